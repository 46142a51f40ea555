// Lesson 202: the traffic of rungs 01, 02 and 03 for one step of 128 queries and 128 keys of head_dim 64,
// kernel by kernel, and the banks that the lanes of a warp meet in the product of rung 02.
#include <cstdio>

#include "engine/device_memory.hpp"
#include "forward/forward.hpp"
#include "host/checker/traffic.hpp"
#include "host/executor.hpp"
#include "ringcraft/core/random.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

constexpr int kSize = 128, kWidth = 64;
struct Arrays {
  Stream stream;
  Random random{1};
  Buffer rows(Index count) {
    return copied_to_device(random_normal({1, 1, count, kWidth}, DType::kFloat32, random), stream);
  }
  Buffer q = rows(kSize), k = rows(kSize), v = rows(kSize), out = rows(kSize), state = rows(4),
         matrix = rows(3 * kSize), ranges = rows(4);
  // Runs the kernels of a step up to number `last`; returns the traffic of that one.
  std::vector<simt::LineTraffic> moved(const ForwardRung& rung, int last) {
    int* const begin = reinterpret_cast<int*>(device_floats(ranges));
    for (int a = 0; a < kSize; ++a) begin[a] = 0, begin[kSize + a] = kSize;
    float *const max = device_floats(state), *const sum = max + kSize;
    simt::settings() = {.count_traffic = true, .launches = last};
    run(rung,
        {device_floats(q), device_floats(k), device_floats(v), begin, begin + kSize, device_floats(out), max,
         sum, 1, 1, 1, kSize, kSize, kWidth, 0.125f},
        device_floats(matrix), stream.get());
    return simt::last_traffic();
  }
};
int main() {
  Arrays arrays;
  std::printf("rung kernel global_KB sectors/access fewest shared_KB passes fewest\n");
  for (const ForwardRung* rung : {&kNaive, &kTiles, &kOnlineSoftmax})
    for (int kernel = 1; kernel <= (rung == &kOnlineSoftmax ? 1 : 3); ++kernel) {
      simt::LineTraffic sums[2];
      for (const simt::LineTraffic& line : arrays.moved(*rung, kernel)) {
        simt::LineTraffic& sum = sums[line.shared];
        sum.bytes += line.bytes, sum.requests += line.requests;
        sum.transfers += line.transfers, sum.least_transfers += line.least_transfers;
      }
      const auto each = [&](std::size_t n) { return double(n) / double(sums[0].requests); };
      std::printf("%4d %6d %9zu %14.2f %6.2f %9zu %6zu %6zu\n", rung->number, kernel, sums[0].bytes / 1024,
                  each(sums[0].transfers), each(sums[0].least_transfers), sums[1].bytes / 1024,
                  sums[1].transfers, sums[1].least_transfers);
    }
  std::printf(
      "\nbanks of the 32 lanes in the first kernel of rung 02, counted from that of lane 0, line by line\n");
  for (const simt::LineTraffic& line : arrays.moved(kTiles, 1)) {
    if (!line.shared) continue;
    std::printf("%s", line.writes ? "writes" : "reads");
    for (const std::uintptr_t address : line.first) std::printf(" %zu", (address - line.first[0]) / 4 % 32);
    std::printf("\n");
  }
}
