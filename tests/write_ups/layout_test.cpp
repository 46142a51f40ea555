// Layouts, masks and labels as popular write-ups have them.
#include <algorithm>

#include "head.hpp"
#include "ringcraft/problem/deal.hpp"
#include "ringcraft/ring/work.hpp"
#include "support/catch.hpp"
#include "support/predicate.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// Causal pairs of rows at these positions, in the whole sequence.
Index causal_work(const Positions& positions) {
  Index work = 0;
  for (const Position p : positions) work += p + 1;
  return work;
}

}  // namespace

TEST_CASE("zig-zag is not striped: both deals of 8 tokens to 4 ranks") {
  std::vector<Index> striped, zigzag;
  for (int rank = 0; rank < 4; ++rank) {
    const Positions s = Sharding{Layout::kStriped, 8, 4}.positions(rank);
    const Positions z = Sharding{Layout::kZigzagToken, 8, 4}.positions(rank);
    CHECK(s == Positions{rank, rank + 4});
    CHECK(z == Positions{rank, 7 - rank});
    striped.push_back(causal_work(s));
    zigzag.push_back(causal_work(z));
  }
  CHECK(striped == std::vector<Index>{6, 8, 10, 12});
  CHECK(zigzag == std::vector<Index>{9, 9, 9, 9});
}

TEST_CASE("a triangle over re-ordered rows lets queries see their future") {
  Positions order;
  for (int rank = 0; rank < 4; ++rank)
    for (const Position p : Sharding{Layout::kZigzagToken, 8, 4}.positions(rank)) order.push_back(p);
  int leaks = 0, lost = 0;
  for (std::size_t query = 0; query < 8; ++query)
    for (std::size_t key = 0; key < 8; ++key) {
      leaks += key <= query && order[key] > order[query];
      lost += key > query && order[key] <= order[query];
    }
  CHECK(leaks == 12);
  CHECK(lost == 12);
}

TEST_CASE("chunks r and r + N give every pair its rank and no balance") {
  std::vector<Index> work;
  std::vector<int> owners(16, -1);
  for (int rank = 0; rank < 4; ++rank) {
    work.push_back(0);
    for (const int g : {rank, rank + 4}) {
      const Chunk chunk = nth_chunk(16, 8, g);
      for (Position p = chunk.begin; p < chunk.end; ++p) {
        owners[static_cast<std::size_t>(p)] = rank;
        work.back() += p + 1;
      }
    }
  }
  CHECK(std::ranges::count(owners, -1) == 0);  // a right deal: values cannot tell
  CHECK(work == std::vector<Index>{22, 30, 38, 46});
}

TEST_CASE("a rank needs the keys of all others only if it owns at least two tokens") {
  const auto needs_all = [](Position seqlen) {
    int pairs_of_ranks = 0;
    for (int rank = 0; rank < 4; ++rank)
      for (int source = 0; source < 4; ++source) {
        const Problem p =
            make_problem({.seqlen = seqlen, .head_dim = 1}, causal_mask(), Layout::kZigzagToken, 4);
        pairs_of_ranks += key_ranges(p, rank, source).pairs() > 0;
      }
    return pairs_of_ranks == 16;
  };
  CHECK_FALSE(needs_all(4));
  CHECK(needs_all(8));
}

TEST_CASE("which block is here: two ranks hide the direction of the ring, three do not") {
  for (int n = 1; n <= 5; ++n) {
    int differ = 0;
    for (int rank = 0; rank < n; ++rank)
      for (int t = 0; t < n; ++t) differ += (rank + t) % n != (rank - t + n) % n;
    CHECK((differ == 0) == (n <= 2));
  }
}

TEST_CASE("a swap of the own buffer with one other leaves foreign blocks in it from three ranks on") {
  const auto own_after = [](int n) {
    std::vector<int> own(static_cast<std::size_t>(n)), other(own.size(), -1);
    for (int rank = 0; rank < n; ++rank) own[static_cast<std::size_t>(rank)] = rank;
    auto* current = &own;
    auto* arriving = &other;
    for (int hop = 0; hop < n - 1; ++hop) {
      for (int rank = 0; rank < n; ++rank)
        (*arriving)[static_cast<std::size_t>(rank)] =
            (*current)[static_cast<std::size_t>((rank - 1 + n) % n)];
      std::swap(current, arriving);
    }
    return own;
  };
  CHECK(own_after(1) == std::vector{0});
  CHECK(own_after(2) == std::vector{0, 1});
  CHECK(own_after(3) == std::vector{1, 2, 0});
  CHECK(own_after(4) == std::vector{2, 3, 0, 1});
  CHECK(own_after(5) == std::vector{1, 2, 3, 4, 0});
}

TEST_CASE("the corner that a window leaves of a block is smaller than the block") {
  // Shards of M tokens, window W: the last block that rank C sees holds u (u + 1) / 2 pairs, u = W - (C - 1)
  // M.
  for (const auto& [m, w, hops_needed] :
       {std::tuple<Index, Position, int>{2, 1, 1}, {4, 5, 2}, {4, 8, 2}, {3, 7, 3}}) {
    const Problem p = make_problem({.seqlen = m * (hops_needed + 1), .head_dim = 1}, window_mask(w),
                                   Layout::kContiguous, hops_needed + 1);
    CHECK(hops(p) == hops_needed);
    const Index u = w - (hops_needed - 1) * m, pairs = ring_work(p).pairs.back().back();
    CHECK(pairs == u * (u + 1) / 2);
    CHECK((pairs == m * (m + 1) / 2) == (w % m == 0));  // the count of the uncut block
  }
}

TEST_CASE("a window of W lets a late query see W + 1 keys, its own included") {
  for (const Position w : {0, 1, 5}) {
    int keys = 0;
    for (Position k = 0; k < 20; ++k) keys += sees(window_mask(w), 15, k);
    CHECK(keys == w + 1);
  }
}

TEST_CASE("a view instead of a transposition mixes heads and positions") {
  const auto misplaced = [](Index heads) {
    constexpr Index kRows = 4, kWidth = 2;
    int count = 0;  // [heads, rows, width] read as [rows, heads * width]
    for (Index h = 0; h < heads; ++h)
      for (Index a = 0; a < kRows; ++a)
        for (Index c = 0; c < kWidth; ++c)
          count += (h * kRows + a) * kWidth + c != (a * heads + h) * kWidth + c;
    return count;
  };
  CHECK(misplaced(1) == 0);  // one head hides it
  CHECK(misplaced(2) == 12);
  CHECK(misplaced(4) == 24);
}
