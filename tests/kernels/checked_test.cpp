// A checked launch finds each planted mistake, in every order of threads, and nothing in the same kernel
// without it.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "host/checker/checker.hpp"
#include "host/checker/places.hpp"
#include "host/thread_block.hpp"
#include "planted.hpp"
#include "ptx_checks.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
using ringcraft::testing::contains;

namespace {

constexpr std::uint64_t kSeeds[] = {0, 1, 2, 3, 7, 1000};

// Device memory of 0, for one launch.
class Zeros {
 public:
  Zeros() {
    REQUIRE(cudaMalloc(&memory_, kBytes) == cudaSuccess);
    REQUIRE(cudaMemset(memory_, 0, kBytes) == cudaSuccess);
  }
  ~Zeros() { cudaFree(memory_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  float* get() const { return static_cast<float*>(memory_); }

 private:
  static constexpr std::size_t kBytes = kPlantedFloats * sizeof(float);
  void* memory_ = nullptr;
};

std::string said(const Planted& mistake, PlantedKernel kernel) {
  const Zeros zeros;
  return ringcraft::testing::outcome_of([&] { launch_planted(mistake, kernel, zeros.get()); }).sentence;
}

// "{x}" becomes "planted.cu:40" if line 40 ends with "// x".
std::string with_lines(std::string text) {
  static const std::vector<std::string> source = [] {
    std::ifstream file(RINGCRAFT_PLANTED_SOURCE);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }();
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{')) {
    const std::size_t close = text.find('}', open);
    const std::string mark = "// " + text.substr(open + 1, close - open - 1);
    std::size_t line = 0;
    while (line < source.size() && !source[line].ends_with(mark)) ++line;
    REQUIRE(line < source.size());
    text.replace(open, close - open + 1, "planted.cu:" + std::to_string(line + 1));
  }
  return text;
}

}  // namespace

TEST_CASE("each planted mistake is found in every order, and its kernel without it is not accused") {
  REQUIRE(planted().size() >= 20);
  for (const Planted& mistake : planted())
    for (const std::uint64_t seed : kSeeds) {
      simt::settings().seed = seed;
      const std::string wrong = said(mistake, mistake.wrong), right = said(mistake, mistake.right);
      INFO(mistake.name << ", seed " << seed << ": " << wrong);
      for (const std::string& fragment : mistake.said) CHECK(contains(wrong, with_lines(fragment)));
      CHECK(right == "nothing thrown");
    }
  simt::settings() = {};
}

TEST_CASE("device memory that has been freed is recognised") {
  const Planted& any = planted().front();
  float* memory = nullptr;
  {
    const Zeros zeros;
    memory = zeros.get();
  }
  CHECK_THROWS_WITH(launch_planted(any, any.right, memory), Catch::Contains("which has been freed"));
}

TEST_CASE("shared memory that lies beside the stack of a thread is watched, the stack itself is not") {
  std::byte memory[64];
  const auto here = reinterpret_cast<std::uintptr_t>(memory);
  const auto read_of_new_memory = [&](std::uintptr_t stack_end) {
    return ringcraft::testing::outcome_of([&] {
             simt::Checker checker;
             checker.begin_block({0, 0, 0}, memory, sizeof memory);
             checker.resume(0, stack_end);
             checker.access(memory, 4, simt::Access::kRead, {});
             checker.end_block();
           })
        .sentence;
  };
  for (const std::uintptr_t stack_end : {std::uintptr_t{0}, here - 1, here + simt::kStackBytes + 1})
    CHECK(contains(read_of_new_memory(stack_end), "which no thread of this block has written before"));
  CHECK(read_of_new_memory(here + sizeof memory) == "nothing thrown");
}

TEST_CASE("more static shared memory than a thread block has is found before any launch") {
  const auto& arrays = simt::static_arrays();
  const auto corner = std::ranges::find(arrays, "corner", &simt::StaticArray::name);
  REQUIRE(corner != arrays.end());
  CHECK(contains(corner->scope, "in_a_static_array"));
  CHECK(corner->local);
  CHECK(corner->bytes == 16);
  CHECK(std::ranges::find(arrays, "running", &simt::StaticArray::name) == arrays.end());  // the checker's own
  CHECK_FALSE(simt::too_much_shared(arrays));

  const auto said = [](const std::vector<simt::StaticArray>& all) {
    return simt::sentence_of(simt::too_much_shared(all).value());
  };
  const std::string scores = "void kernels::(anonymous namespace)::scores<8>(float*)";
  std::vector<simt::StaticArray> tiles{
      {"q", scores, true, 0, 32 << 10},
      {"k", scores, true, 40 << 10, 16 << 10},
      {"k", "void kernels::(anonymous namespace)::scores<16>(float*)", true, 60 << 10, 4}};
  CHECK_FALSE(simt::too_much_shared(tiles));
  tiles.push_back({"l", scores, true, 200 << 10, 4});
  CHECK(contains(said(tiles), "the __shared__ variables of scores have 49156 bytes"));
  tiles.back() = {"everyones", "kernels", false, 200 << 10, 4};
  CHECK(contains(said(tiles), "the __shared__ variables of scores have 49156 bytes"));
  CHECK(contains(said({{"all", "", false, 0, 50 << 10}}), "of a kernel have 51200 bytes"));
}

TEST_CASE("findings can be suppressed") {
  simt::settings().check = false;
  for (const Planted& mistake : planted())
    if (mistake.name != "crooked_vector") CHECK(said(mistake, mistake.wrong) == "nothing thrown");
  simt::settings() = {};
}

TEST_CASE(
    "the kernels of single instructions are right in a checked launch, and their missing waits are found") {
  for (const std::uint64_t seed : kSeeds) {
    simt::settings().seed = seed;
    for (const Format format : {Format::kBf16, Format::kHalf})
      for (const auto fragments : {Fragments::kByHand, Fragments::kLdmatrix, Fragments::kLdmatrixTrans})
        CHECK(check_products(format, fragments, 5).wrong == 0);
    CHECK(check_copies(Waiting::kRight, 100).wrong == 0);
    for (const Waiting waiting : {Waiting::kNever, Waiting::kOneTooFew, Waiting::kUncommitted})
      CHECK_THROWS_WITH(check_copies(waiting, 100), Catch::Contains("is still under way"));
  }
  simt::settings() = {};
}
