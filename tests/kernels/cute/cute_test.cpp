// The executor's layouts of registers and shared memory against NVIDIA's, element by element: the
// instructions of the kernels, as they run on the CPU, and CuTe's traits of the same instructions. This
// project has written both sides of the executor from one reading of the PTX manual; CuTe is independent of
// it. It comes with
// `./ringcraft setup --all`.
//
// Not detected: two columns of A that are exchanged together with the same rows of B. No product shows it.
#include <cstdio>
#include <utility>

#include "cute_layouts.hpp"
#include "host/executor.hpp"
#include "observed.hpp"
#include "support/catch.hpp"
#include "warp_kernels.hpp"

using namespace ringcraft;
using namespace ringcraft::layouts;

namespace {

constexpr Format kFormats[] = {Format::kBf16, Format::kHalf};
constexpr Operand kOperands[] = {Operand::kC, Operand::kA, Operand::kB};
constexpr Load kLoads[] = {Load::kX4, Load::kX4Trans, Load::kX2, Load::kX2Trans};

executors::Operands cutes_operands(Format format) {
  return {cutes::fragment(format, Operand::kA), cutes::fragment(format, Operand::kB),
          cutes::fragment(format, Operand::kC)};
}
LaneMap observed_fragment(Format format, Operand operand) {
  return executors::fragment(format, operand, cutes_operands(format));
}

// Compares and requires that every value agrees. Returns how many there were.
std::size_t agreeing(const LaneMap& observed, const LaneMap& expected) {
  const Comparison found = compare(observed, expected);
  INFO(found.report);
  CHECK(found.different == 0);
  return found.compared;
}

// Swaps two lanes of what was observed, each pair of them in turn, and requires that both are named. Returns
// how many pairs there were.
int swaps_found(const LaneMap& observed, const LaneMap& expected) {
  const auto sentence = [&](int lane, int of) {
    return observed.name + ": lane " + std::to_string(lane) + " holds what is expected of lane " +
           std::to_string(of) + "\n";
  };
  int pairs = 0;
  for (int one = 0; one < observed.lanes; ++one)
    for (int other = one + 1; other < observed.lanes; ++other, ++pairs) {
      const Comparison found = compare(with_lanes_swapped(observed, one, other), expected);
      if (found.report != sentence(one, other) + sentence(other, one)) FAIL_CHECK(found.report);
    }
  return pairs;
}

template <class Check>
void in_every_order(Check check) {
  for (const std::uint64_t seed : {0, 1, 7}) {
    simt::settings().seed = seed;
    check();
  }
  simt::settings() = {};
}

}  // namespace

TEST_CASE("mma: the executor takes every value of A, B and C for the place that CuTe gives it") {
  std::size_t values = 0;
  in_every_order([&] {
    for (const Format format : kFormats)
      for (const Operand operand : kOperands)
        values += agreeing(observed_fragment(format, operand), cutes::fragment(format, operand));
  });
  CHECK(values == 3 * 2 * (256 + 128 + 128));
  std::printf(
      "mma: %zu values of A, B and C, in 2 formats and 3 orders of the threads, are where CuTe has them\n",
      values);
}

TEST_CASE("ldmatrix: the executor gives every lane the numbers that CuTe gives it") {
  std::size_t values = 0;
  in_every_order([&] {
    for (const Load load : kLoads) values += agreeing(executors::matrix_load(load), cutes::matrix_load(load));
  });
  CHECK(values == 3 * 2 * (256 + 128));
  std::printf(
      "ldmatrix: %zu numbers of x4, x2 and their transposed forms, in 3 orders, come from where CuTe has "
      "them\n",
      values);
}

TEST_CASE("cp.async: 16 bytes of every lane arrive as CuTe has them, or 16 zeros") {
  std::size_t bytes = 0;
  in_every_order([&] {
    bytes += agreeing(executors::async_copy(), cutes::async_copy());
    CHECK(executors::bytes_of_invalid_copies() == 0);
  });
  CHECK(bytes == 3 * 512);
  std::printf("cp.async: %zu bytes, in 3 orders, arrive where CuTe has them\n", bytes);
}

TEST_CASE("tile_row and tile_column are the places of C, in every warp and accumulator") {
  constexpr int kAccumulators = 16;  // 128 columns
  const LaneMap observed = accumulator_places(kAccumulators), c = cutes::fragment(Format::kBf16, Operand::kC);
  LaneMap expected{"", observed.lanes, observed.values};
  for (int thread = 0; thread < observed.lanes; ++thread)
    for (int value = 0; value < observed.values; ++value) {
      const Place place = c.at(thread % 32, value % 4);
      expected.places.push_back({thread / 32 * 16 + place.row, value / 4 * 8 + place.column});
    }
  const std::size_t values = agreeing(observed, expected);
  CHECK(values == 128 * 4 * kAccumulators);
  std::printf("tile_row, tile_column: %zu elements of accumulators are where CuTe has them\n", values);
}

// A piece of 16 bytes is 2^3 numbers, which stay together: base 3. Eight pieces take turns, for ldmatrix
// reads eight rows at once: 3 bits. They move by row % 8, and the row is counted from bit log2(head_dim) on,
// which lies 3 bits above the number of the piece at head_dim 64, and 4 at 128. No other Swizzle does the
// same.
TEST_CASE("the kernels' swizzle is CuTe's, and no other one of CuTe's") {
  constexpr int kRows = 128;
  for (const auto& [head_dim, swizzle] :
       {std::pair{64, cutes::SwizzleBits{3, 3, 3}}, {128, cutes::SwizzleBits{3, 3, 4}}}) {
    for (const auto& places : {swizzled_places(head_dim, kRows), pipeline_places(head_dim, kRows)}) {
      CHECK(cutes::swizzles_that_give(places) == std::vector{swizzle});
      auto wrong = places;
      std::swap(wrong[8 * 5], wrong[8 * 6]);
      CHECK(cutes::swizzles_that_give(wrong).empty());
    }
    std::printf(
        "head_dim %d: %d places of two tiles are those of Swizzle<%d, %d, %d>, and of none of %d others\n",
        head_dim, 2 * kRows * head_dim / 8, swizzle.bits, swizzle.base, swizzle.shift,
        cutes::swizzles_tried() - 1);
  }
}

TEST_CASE("two lanes that change places are found and named, whichever they are") {
  int pairs = 0;
  for (const Operand operand : kOperands)
    pairs += swaps_found(observed_fragment(Format::kBf16, operand), cutes::fragment(Format::kBf16, operand));
  for (const Load load : kLoads) pairs += swaps_found(executors::matrix_load(load), cutes::matrix_load(load));
  pairs += swaps_found(executors::async_copy(), cutes::async_copy());
  CHECK(pairs == 8 * 32 * 31 / 2);
  std::printf("%d swaps of two lanes are found and named\n", pairs);
}
