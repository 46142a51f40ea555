// Lesson 404: how far blocks are needed under a window; the blocks of the last rank as the library sees them,
// and as calls of a kernel that knows no positions; and the same window over four layouts.
#include <cstdio>
#include <numeric>

#include "ringcraft/problem/window_calls.hpp"
#include "ringcraft/ring/work.hpp"

using namespace ringcraft;

Problem windowed(int window, int ranks, int rows, Layout layout = Layout::kContiguous) {
  return make_problem({.seqlen = ranks * rows, .head_dim = 1}, window_mask(window), layout, ranks);
}

// The keys that rank 4 of 5 sees of the block `step` ranks before it, and the calls that compute these pairs.
void print_block(int window, int step) {
  std::printf("\nwindow of %d, step %d: rows of rank 4, keys of block %d\n", window, step, 4 - step);
  const KeyRanges seen = key_ranges(windowed(window, 5, 4), 4, 4 - step);
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) std::printf("%c", seen.begin[a] <= b && b < seen.end[a] ? '#' : '.');
    std::printf("\n");
  }
  for (const auto& [q, k, left, right] :
       window_calls(nth_chunk(20, 5, 4), nth_chunk(20, 5, 4 - step), window))
    std::printf("attend(q[%d:%d], k[%d:%d], window_size=(%d, %d))\n", int(q.begin), int(q.end), int(k.begin),
                int(k.end), int(left), int(right));
}

void print_layout(Layout layout) {
  const Problem p = windowed(8, 8, 16, layout);
  const std::vector<int> reach = reaches(p);
  int needed = 0;
  for (int rank = 0; rank < 8; ++rank)
    for (int s = 0; s < 8; ++s) needed += s != rank && key_ranges(p, rank, s).pairs() > 0 ? 1 : 0;
  std::printf("%-12s %d %2d %4.2f %3d\n", name_of(layout).data(), hops(p),
              std::accumulate(reach.begin(), reach.end(), 0), needed / 8.0,
              int(ring_work(p).synchronous_cost));
}

int main() {
  std::printf("5 ranks of 4 tokens: window, hops, reach of blocks 0 to 4\n");
  for (const int window : {0, 1, 3, 4, 5, 8, 9, 15, 16, 17, 99}) {
    std::printf("%2d  %d ", window, hops(windowed(window, 5, 4)));
    for (const int reach : reaches(windowed(window, 5, 4))) std::printf(" %d", reach);
    std::printf("\n");
  }
  for (int step = 0; step <= 3; ++step) print_block(9, step);
  print_block(6, 2);
  std::printf("\nwindow of 9: pairs of ranks 0 to 4 in each step\n");
  for (const auto& step : ring_work(windowed(9, 5, 4)).pairs) {
    for (const Index pairs : step) std::printf("%3d", int(pairs));
    std::printf("\n");
  }
  std::printf("\n8 ranks of 16 tokens, window of 8: hops, needed moves, blocks per rank, cost\n");
  for (const Layout layout : kLayouts) print_layout(layout);
}
