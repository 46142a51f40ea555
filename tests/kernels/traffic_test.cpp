// Counted traffic against counts by hand: bank conflicts of padded and unpadded tiles, sectors of
// scattered reads.
#include "host/checker/traffic.hpp"

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "host/executor.hpp"
#include "support/catch.hpp"
#include "traffic_kernels.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
using simt::LineTraffic;

namespace {

constexpr std::size_t kFloats = 4096;

// Traffic of a launch, of one kind: all lines that do this to that memory, as one.
LineTraffic counted(bool shared, bool writes, const std::function<void(const float*, float*)>& launch) {
  void *from = nullptr, *to = nullptr;
  REQUIRE(cudaMalloc(&from, kFloats * sizeof(float)) == cudaSuccess);
  REQUIRE(cudaMalloc(&to, kFloats * sizeof(float)) == cudaSuccess);
  simt::settings().count_traffic = true;
  launch(static_cast<const float*>(from), static_cast<float*>(to));
  simt::settings() = {};
  cudaFree(from);
  cudaFree(to);
  LineTraffic sum;
  for (const LineTraffic& line : simt::last_traffic()) {
    INFO(line.place.line);
    CHECK(line.place.line.rfind("traffic_kernels.cu:", 0) == 0);
    if (line.shared != shared || line.writes != writes) continue;
    sum.bytes += line.bytes;
    sum.requests += line.requests;
    sum.transfers += line.transfers;
    sum.least_transfers += line.least_transfers;
    if (sum.first[0] == 0) sum.first = line.first;
  }
  return sum;
}

void check(const LineTraffic& got, std::size_t bytes, std::size_t requests, std::size_t transfers,
           std::size_t least) {
  CHECK(got.bytes == bytes);
  CHECK(got.requests == requests);
  CHECK(got.transfers == transfers);
  CHECK(got.least_transfers == least);
}

}  // namespace

TEST_CASE("columns of an unpadded tile meet one bank, those of a padded tile all") {
  const auto columns = [](int stride) {
    return counted(true, false, [stride](const float* from, float* to) { transpose(stride, from, to); });
  };
  check(columns(32), 4096, 32, 32 * 32, 32);
  check(columns(33), 4096, 32, 32, 32);
  check(columns(34), 4096, 32, 2 * 32, 32);  // even banks only
  check(counted(true, true, [](const float* from, float* to) { transpose(32, from, to); }), 4096, 32, 32, 32);
}

TEST_CASE("accesses of 16 bytes go a quarter of a warp at a time") {
  const auto vectors = [](int stride) {
    return counted(true, false, [stride](const float* from, float* to) { read_vectors(stride, from, to); });
  };
  check(vectors(64), 512, 1, 4 * 8, 4);  // eight rows of a quarter begin in one bank
  check(vectors(68), 512, 1, 4, 4);      // rung 03: they begin 4 banks apart
  check(vectors(72), 512, 1, 4 * 2, 4);
}

TEST_CASE("ldmatrix takes eight rows at a time") {
  const auto tile = [](int stride) {
    return counted(true, false, [stride](const float*, float* to) { load_tile(stride, to); });
  };
  check(tile(64), 512, 4, 4 * 8, 4);
  check(tile(72), 512, 4, 4, 4);
  check(tile(16), 512, 4, 4 * 2, 4);  // rows of 32 bytes: every fourth one begins in the same bank
}

TEST_CASE("cp.async meets the banks as a store of 16 bytes does, and reads sectors as a load does") {
  const auto copies = [](bool shared, int stride) {
    return counted(shared, shared,
                   [stride](const float* from, float* to) { copy_vectors(stride, from, to); });
  };
  check(copies(true, 64), 512, 1, 4 * 8, 4);
  check(copies(true, 68), 512, 1, 4, 4);
  check(copies(false, 68), 512, 1, 16, 16);
}

TEST_CASE("the places at which the lanes of a warp meet are recorded") {
  for (const int stride : {1, 3, 100}) {
    const LineTraffic reads =
        counted(false, false, [stride](const float* from, float* to) { gather(stride, from, to); });
    for (std::size_t lane = 0; lane < 32; ++lane)
      CHECK(reads.first[lane] - reads.first[0] == 4 * lane * static_cast<std::size_t>(stride));
  }
}

TEST_CASE("scattered reads of device memory take more sectors than they need") {
  const auto sectors = [](int stride) {
    return counted(false, false, [stride](const float* from, float* to) { gather(stride, from, to); });
  };
  check(sectors(1), 128, 1, 4, 4);
  check(sectors(2), 128, 1, 8, 4);
  check(sectors(8), 128, 1, 32, 4);
  check(sectors(100), 128, 1, 32, 4);
}
