// Lesson 205: the traffic of the two merge kernels, and of a kernel that carries (O, m, l), array by array,
// for 128 rows of head_dim 64; and the places of a warp's lanes when they first touch an array.
#include <cstdio>

#include "engine/device_memory.hpp"
#include "forward/forward.hpp"
#include "host/checker/traffic.hpp"
#include "host/executor.hpp"
#include "merge/merge.hpp"
#include "ringcraft/core/random.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

constexpr int kRows = 128, kWidth = 64;
Random numbers(1);
struct Array {
  const char* name;
  Buffer host = random_normal({1, 1, kRows, kWidth}, DType::kFloat32, numbers);
  Buffer memory = copied_to_device(host, Stream());
  float* gmem = device_floats(memory);
} O{"O"}, m{"m"}, l{"l"}, block_O{"block_O"}, block_m{"block_m"}, block_l{"block_l"}, q{""}, k{""}, v{""},
    ranges{""};

// Accesses of a kernel to each array; -1: the lane takes no part.
void print(const char* kernel) {
  for (const Array* array : {&O, &block_O, &m, &block_m, &l, &block_l})
    for (const bool writes : {false, true}) {
      simt::LineTraffic sum;
      const auto place = [&](const simt::LineTraffic& line, int lane) {
        const auto first = reinterpret_cast<std::uintptr_t>(array->gmem);
        return line.first[lane] == 0 ? -1L : static_cast<long>(line.first[lane] - first) / 4;
      };
      for (const simt::LineTraffic& line : simt::last_traffic()) {
        const long at = place(line, 0);
        if (line.writes != writes || at < 0 || at >= kRows * kWidth) continue;
        if (sum.requests == 0) sum.first = line.first;
        sum.requests += line.requests, sum.bytes += line.bytes, sum.transfers += line.transfers;
      }
      if (sum.requests == 0) continue;
      std::printf("%-10s %-7s %-6s %8zu %6zu %7zu", kernel, array->name, writes ? "writes" : "reads",
                  sum.requests, sum.bytes, sum.transfers);
      for (const int lane : {0, 1, 2, 15, 16, 31}) std::printf(" %4ld", place(sum, lane));
      std::printf("\n");
    }
}
int main() {
  simt::settings() = {.count_traffic = true, .name_lines = false};
  std::printf("kernel     array   does   requests  bytes sectors    0    1    2   15   16   31\n");
  merge({O.gmem, m.gmem, l.gmem}, {block_O.gmem, block_m.gmem, block_l.gmem}, kRows, kWidth, nullptr);
  print("merge");
  merge_normalized(O.gmem, m.gmem, block_O.gmem, block_m.gmem, kRows, kWidth, nullptr);
  print("normalized");
  int *const end = reinterpret_cast<int*>(ranges.gmem), *const begin = end + kRows;
  for (int a = 0; a < kRows; ++a) begin[a] = 0, end[a] = kRows;
  run(kOnlineSoftmax,
      {q.gmem, k.gmem, v.gmem, begin, end, O.gmem, m.gmem, l.gmem, 1, 1, 1, kRows, kRows, kWidth, 1}, nullptr,
      nullptr);
  print("carrying");
}
