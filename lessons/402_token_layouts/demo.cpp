// Lesson 402: contiguous shards, striped and token zig-zag side by side: the owner of each token, and the
// work of each rank, counted in pairs and in the tiles of a kernel.
#include <cstdio>

#include "ringcraft/ring/work.hpp"

using namespace ringcraft;

constexpr Layout kThree[] = {Layout::kContiguous, Layout::kStriped, Layout::kZigzagToken};

Problem causal(Layout layout, Position seqlen, int ranks) {
  return make_problem({.seqlen = seqlen, .head_dim = 1}, causal_mask(), layout, ranks);
}

void print_row(const char* name, const std::vector<Index>& numbers) {
  std::printf("%-12s", name);
  for (const Index number : numbers) std::printf(" %7d", static_cast<int>(number));
  std::printf("\n");
}

// The cost of the ring, in pairs, over the visible pairs of a rank if all ranks had equally many.
double over_fair_share(const Problem& p, Index cost) {
  return static_cast<double>(cost * p.world_size) / (4096.0 * 4097 / 2);
}

int main() {
  std::printf("owners of 16 tokens\n");
  for (const Layout layout : kThree) {
    std::printf("%-12s", name_of(layout).data());
    for (Position p = 0; p < 16; ++p) std::printf(" %d", Sharding{layout, 16, 4}.owner_of(p));
    std::printf("\n");
  }
  for (const Layout layout : kThree) {
    std::printf("\n%s: pairs of ranks 0 to 3\n", name_of(layout).data());
    for (const auto& step : ring_work(causal(layout, 16, 4)).pairs) print_row("step", step);
  }
  for (const Position seqlen : {16, 20, 22, 4096, 4098}) {
    std::printf("\n%d tokens: pairs of ranks 0 to 3, synchronous cost\n", static_cast<int>(seqlen));
    for (const Layout layout : kThree) {
      RingWork work = ring_work(causal(layout, seqlen, 4));
      work.by_rank.push_back(work.synchronous_cost);
      print_row(name_of(layout).data(), work.by_rank);
    }
  }
  std::printf("\n4096 tokens: ranks; cost over a fair share in pairs, in tiles of 64, of 128\n");
  for (const int n : {4, 8, 16, 32})
    for (const Layout layout : kThree) {
      const Problem p = causal(layout, 4096, n);
      std::printf("%-12s %7d %7.2f", name_of(layout).data(), n,
                  over_fair_share(p, ring_work(p).synchronous_cost));
      for (const int tile : {64, 128})
        std::printf(" %7.2f", over_fair_share(p, synchronous_tiles(p, tile) * tile * tile));
      std::printf("\n");
    }
}
