// The instructions of kernels/engine/ptx.cuh on the CPU: they give the results of a GPU, and copies without
// a wait deliver nothing.
#include "host/device.hpp"
//
#include "engine/launch.cuh"
#include "engine/ptx.cuh"
#include "ptx_checks.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

namespace {

constexpr Format kFormats[] = {Format::kBf16, Format::kHalf};

template <class Check>
void in_every_order(Check check) {
  for (const std::uint64_t seed : {0, 1, 7}) {
    simt::settings().seed = seed;
    check();
  }
  simt::settings() = {};
}

__global__ void product_of_half_a_warp() {
  unsigned a[4] = {};
  float c[4] = {};
  if (threadIdx.x < 16) mma_16x8x16<Bf16>(c, a, 0, 0);
}
__global__ void load_of_a_short_warp() {
  unsigned a[4];
  ldmatrix_x4(a, dynamic_shared<float4>() + threadIdx.x);
}
__global__ void load_of_a_crooked_row() {
  unsigned a[4];
  ldmatrix_x4(a, dynamic_shared<Half>() + 8 * threadIdx.x + (threadIdx.x == 5 ? 4 : 0));
}
__global__ void copy_of_a_crooked_row(const float* from) {
  cp_async_16(dynamic_shared<float>(), from + 1, true);
}

}  // namespace

TEST_CASE("products of fragments agree with double, in both formats, however the fragments are loaded") {
  in_every_order([] {
    for (const Format format : kFormats)
      for (const auto fragments : {Fragments::kByHand, Fragments::kLdmatrix, Fragments::kLdmatrixTrans}) {
        const Found found = check_products(format, fragments, 300);
        INFO("worst " << found.worst);
        CHECK(found.numbers == 300 * 128);
        CHECK(found.wrong == 0);
      }
  });
}

TEST_CASE("conversions to 16 bits round to the nearest, ties to even") {
  for (const Format format : kFormats) {
    const Found found = check_conversions(format);
    CHECK(found.numbers > 100'000);
    CHECK(found.wrong == 0);
  }
}

TEST_CASE("powers of 2") {
  const Found found = check_exponentials();
  INFO("worst " << found.worst);
  CHECK(found.wrong == 0);
}

TEST_CASE("asynchronous copies arrive at the wait for their group, and write 0 where not valid") {
  in_every_order([] {
    for (const int valid : {128, 100, 64, 4, 0}) {
      CHECK(check_copies(Waiting::kRight, valid).numbers == 128);
      CHECK(check_copies(Waiting::kRight, valid).wrong == 0);
    }
    for (const Waiting waiting : {Waiting::kNever, Waiting::kOneTooFew, Waiting::kUncommitted})
      for (const int valid : {128, 0}) CHECK(check_copies(waiting, valid).wrong >= 64);
  });
}

TEST_CASE("a warp that is not whole, or an address that is not aligned, is explained") {
  const std::vector<float> numbers(8);
  in_every_order([&] {
    CHECK_THROWS_WITH(launch(product_of_half_a_warp, 1, 32, 0, nullptr),
                      Catch::Contains("waiting for mma of the lanes 0xffffffff (ptx_test.cpp:") &&
                          Catch::Contains("): threads 0 to 15"));
    CHECK_THROWS_WITH(
        launch(load_of_a_short_warp, 1, 48, 48 * 16, nullptr),
        Catch::Contains("ldmatrix at ptx_test.cpp:") && Catch::Contains("needs a warp of 32 threads"));
    CHECK_THROWS_WITH(launch(load_of_a_crooked_row, 1, 32, 33 * 16, nullptr),
                      Catch::Contains("thread 5 gives ldmatrix at ptx_test.cpp:") &&
                          Catch::Contains("no multiple of 16 bytes"));
    CHECK_THROWS_WITH(launch(copy_of_a_crooked_row, 1, 1, 16, nullptr, numbers.data()),
                      Catch::Contains("gives cp.async at ptx_test.cpp:"));
  });
}
