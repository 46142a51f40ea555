// Lesson 403: all four layouts side by side: chunks of any length, the visible part of a block, and the cost
// in tiles under causal masks, windows and packed sequences.
#include <cstdio>

#include "ringcraft/problem/deal.hpp"
#include "ringcraft/ring/work.hpp"

using namespace ringcraft;

// For each layout the hops, and the time in pairs and in tiles over a fair share of the visible pairs.
void print_costs(const char* name, const Mask& mask, int ranks, int tile) {
  std::printf("%-12s %2d %3d ", name, ranks, tile);
  const double fair = static_cast<double>(key_ranges(mask, 4096).pairs()) / ranks;
  for (const Layout layout : kLayouts) {
    const Problem p = make_problem({.seqlen = 4096, .head_dim = 1}, mask, layout, ranks);
    const auto pairs = static_cast<double>(ring_work(p).synchronous_cost);
    const auto tiles = static_cast<double>(synchronous_tiles(p, tile) * tile * tile);
    std::printf("  %2d %.2f %.2f", hops(p), pairs / fair, tiles / fair);
  }
  std::printf("\n");
}

int main() {
  std::printf("22 tokens on 4 ranks: the two chunks of each rank\n");
  for (int rank = 0; rank < 4; ++rank) {
    const auto [early, late] = zigzag_chunks(22, 4, rank);
    std::printf("%d  %d %d  %d %d\n", rank, int(early.begin), int(early.end), int(late.begin), int(late.end));
  }
  for (const Position seqlen : {16, 20, 22}) {
    std::printf("\n%d tokens: pairs of ranks 0 to 3, synchronous cost\n", static_cast<int>(seqlen));
    for (const Layout layout : kLayouts) {
      const RingWork work =
          ring_work(make_problem({.seqlen = seqlen, .head_dim = 1}, causal_mask(), layout, 4));
      std::printf("%-12s", name_of(layout).data());
      for (const Index pairs : work.by_rank) std::printf(" %4d", static_cast<int>(pairs));
      std::printf(" %4d\n", static_cast<int>(work.synchronous_cost));
    }
  }
  for (const auto& [rank, source] : {std::pair{2, 1}, {1, 2}}) {
    std::printf("\n32 tokens: keys that each row of rank %d sees of block %d\n", rank, source);
    for (const Layout layout : kLayouts) {
      const Problem p = make_problem({.seqlen = 32, .head_dim = 1}, causal_mask(), layout, 4);
      std::printf("%-12s", name_of(layout).data());
      const KeyRanges seen = key_ranges(p, rank, source);
      for (const int end : seen.end) std::printf(" %d", end);
      std::printf("\n");
    }
  }
  std::printf("\n4096 tokens: mask, ranks, tile; hops, cost in pairs, cost in tiles for each layout\n");
  for (const int n : {4, 8, 16, 32}) print_costs("causal", causal_mask(), n, 128);
  print_costs("causal", causal_mask(), 32, 64);
  print_costs("window_128", window_mask(128), 8, 64);
  print_costs("window_1024", window_mask(1024), 8, 64);
  for (const int documents : {4, 8, 32}) {
    Mask mask = causal_mask();
    for (int d = 0; d <= documents; ++d) mask.cu_seqlens.push_back(d * 4096 / documents);
    print_costs((std::to_string(documents) + "_documents").c_str(), mask, 8, 64);
  }
}
