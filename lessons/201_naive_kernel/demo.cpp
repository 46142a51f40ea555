// Lesson 201: the addresses at which the 32 lanes of a warp read and write together. The executor runs
// the three kernels on 64 queries and 64 keys of head_dim 64, one after another, and counts their traffic.
#include <cstdio>

#include "engine/device_memory.hpp"
#include "forward/forward.hpp"
#include "host/checker/traffic.hpp"
#include "host/executor.hpp"
#include "ringcraft/core/random.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

constexpr int kSize = 64;
struct Array {
  const char* name;
  Buffer memory;
};
// Accesses of a kernel to one array: the numbers that lanes 0, 1, 2 and 31 touch first, sectors per request.
void print(const char* kernel, Array& array, bool writes) {
  const auto first = reinterpret_cast<std::uintptr_t>(device_floats(array.memory));
  simt::LineTraffic sum;
  for (const simt::LineTraffic& line : simt::last_traffic()) {
    if (line.writes != writes || line.first[0] - first >= array.memory.bytes().size()) continue;
    if (sum.requests == 0) sum.first = line.first;
    sum.requests += line.requests, sum.transfers += line.transfers;
    sum.least_transfers += line.least_transfers;
  }
  if (sum.requests == 0) return;
  std::printf("%-7s %-5s %-6s", kernel, array.name, writes ? "writes" : "reads");
  for (const std::size_t lane : {0, 1, 2, 31})
    std::printf(" %7zu", (sum.first[lane] - first) / sizeof(float));
  const auto requests = static_cast<double>(sum.requests);
  std::printf(" %9zu %7.2f %6.2f\n", sum.requests, static_cast<double>(sum.transfers) / requests,
              static_cast<double>(sum.least_transfers) / requests);
}

int main() {
  const Stream stream;
  Random random(1);
  const auto rows = [&](Index count) {
    return copied_to_device(random_normal({1, 1, count, kSize}, DType::kFloat32, random), stream);
  };
  Array arrays[] = {{"q", rows(kSize)}, {"k", rows(kSize)}, {"v", rows(kSize)}, {"S", rows(kSize + 1)},
                    {"O", rows(kSize)}, {"m", rows(1)},     {"l", rows(1)}};
  const auto at = [&](int i) { return device_floats(arrays[i].memory); };
  Buffer ranges = rows(2);
  int* const begin = reinterpret_cast<int*>(device_floats(ranges));
  for (int a = 0; a < kSize; ++a) begin[a] = 0, begin[kSize + a] = kSize;
  std::printf("kernel  array does    lane_0  lane_1  lane_2 lane_31  requests sectors fewest\n");
  for (int kernel = 0; kernel < 3; ++kernel) {
    simt::settings() = {.count_traffic = true, .launches = kernel + 1, .name_lines = false};
    run(kNaive,
        {at(0), at(1), at(2), begin, begin + kSize, at(4), at(5), at(6), 1, 1, 1, kSize, kSize, kSize, 1},
        at(3), stream.get());
    for (Array& array : arrays)
      for (const bool writes : {false, true})
        print(kernel == 0 ? "scores" : kernel == 1 ? "softmax" : "values", array, writes);
  }
}
