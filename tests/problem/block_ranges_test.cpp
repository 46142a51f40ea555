// BlockRanges against the ranges row by row: thousands of random problems, and numbers worked out by hand
// where rows are too many to list.
#include "ringcraft/problem/block_ranges.hpp"

#include <algorithm>

#include "ringcraft/problem/reach.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

Problem of(Mask mask, Position seqlen, int n, Layout layout) {
  return make_problem({.seqlen = seqlen, .head_dim = 1}, std::move(mask), layout, n);
}

// Of some ranks that may hold shards of neighbours together.
Problem some_problem(Random& random, Position most) {
  Problem problem = random_problem(random, 9, most);
  problem.joined = static_cast<int>(std::max(Index{1}, random.integer(-3, 3)));
  return problem;
}

}  // namespace

TEST_CASE("counted pairs are those of the rows") {
  Random random(61);
  Index blocks = 0, seen = 0, empty_shards = 0;
  for (int i = 0; i < 4000; ++i) {
    const Problem problem = some_problem(random, i % 4 == 0 ? 300 : 40);
    INFO(described(problem));
    for (int rank = 0; rank < problem.world_size; ++rank)
      for (int source = 0; source < problem.world_size; ++source) {
        const BlockRanges block = key_ranges(problem, rank, source);
        const KeyRanges rows = key_ranges(problem, rank, source);
        const Index counted = counted_pairs(problem, rank, source);
        if (counted != rows.pairs() || block.pairs() != counted || block.any() != (counted > 0))
          CHECK(counted == rows.pairs());
        ++blocks;
        seen += rows.pairs() > 0;
        empty_shards += rows.begin.empty();
      }
  }
  CHECK(blocks > 50000);
  CHECK(seen > blocks / 4);
  CHECK(seen < blocks * 9 / 10);
  CHECK(empty_shards > 1000);
}

TEST_CASE("runs are the positions") {
  Random random(62);
  for (int i = 0; i < 1000; ++i) {
    const Problem problem = some_problem(random, 60);
    INFO(described(problem));
    for (int rank = 0; rank < problem.world_size; ++rank) {
      std::vector<Position> positions;
      for (const PositionRun& run : problem.sharding().runs(rank))
        for (Index j = 0; j < run.count; ++j) positions.push_back(run.first + j * run.stride);
      std::ranges::sort(positions);
      CHECK(positions == problem.sharding().positions(rank));
    }
  }
}

TEST_CASE("reaches by counting are the reaches") {
  Random random(63);
  for (int i = 0; i < 2000; ++i) {
    const Problem problem = some_problem(random, 60);
    INFO(described(problem));
    CHECK(reaches_by_pairs(problem) == reaches(problem));
  }
}

TEST_CASE("pairs of blocks of millions of tokens") {
  constexpr Position kTokens = Position{1} << 24, kShard = kTokens / 1024;
  const Problem contiguous = of(causal_mask(), kTokens, 1024, Layout::kContiguous);
  CHECK(key_ranges(contiguous, 5, 5).pairs() == kShard * (kShard + 1) / 2);
  CHECK(key_ranges(contiguous, 1023, 0).pairs() == kShard * kShard);
  CHECK_FALSE(key_ranges(contiguous, 0, 1023).any());
  const Problem striped = of(causal_mask(), kTokens, 1024, Layout::kStriped);
  CHECK(key_ranges(striped, 7, 3).pairs() == kShard * (kShard + 1) / 2);  // its own round, and all before
  CHECK(key_ranges(striped, 3, 7).pairs() == kShard * (kShard - 1) / 2);
  const Problem zigzag = of(causal_mask(), kTokens, 1024, Layout::kZigzag);
  CHECK(key_ranges(zigzag, 7, 3).pairs() == kShard * kShard / 2);  // both chunks see the early one
  CHECK(key_ranges(zigzag, 3, 7).pairs() == kShard * kShard / 2);  // the late chunk sees both
  const Problem window = of(window_mask(kShard + 1), kTokens, 1024, Layout::kContiguous);
  CHECK(key_ranges(window, 9, 7).pairs() == 1);
  CHECK(hops(window) == 2);
  CHECK(hops(contiguous) == 1023);
}

TEST_CASE("ranges at hand are a block") {
  const BlockRanges block(KeyRanges{{0, 0, 1}, {1, 2, 2}});
  CHECK(block.pairs() == 4);
  CHECK(block.by_row().begin == std::vector{0, 0, 1});
  CHECK_FALSE(BlockRanges(KeyRanges{{0}, {0}}).any());
}
