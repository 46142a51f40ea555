// KeyRanges against the pair predicate over thousands of random shard pairs: rows, tiles, slices, transposed.
#include "ringcraft/problem/key_ranges.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"
#include "support/predicate.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Visible = std::vector<std::vector<bool>>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

int wrong_rows(const KeyRanges& ranges, const Visible& visible, int keys) {
  int wrong = ranges.rows() != static_cast<int>(visible.size()) || ranges.end.size() != ranges.begin.size();
  for (int a = 0; a < ranges.rows(); ++a) {
    for (int b = 0; b < keys; ++b)
      wrong += visible[at(a)][at(b)] != (ranges.begin[at(a)] <= b && b < ranges.end[at(a)]);
    wrong += ranges.begin[at(a)] < 0 || ranges.begin[at(a)] > ranges.end[at(a)] || ranges.end[at(a)] > keys;
  }
  wrong += !std::ranges::is_sorted(ranges.begin) || !std::ranges::is_sorted(ranges.end);
  wrong += ranges.pairs() != count(visible);
  return wrong;
}

struct TileCount {
  int wrong = 0, empty = 0, called_partial = 0, all = 0;
};

// Every tile of a tiling that starts at any offset.
TileCount judge_tiles(const KeyRanges& ranges, const Visible& visible, int keys, int tile_rows,
                      int tile_keys) {
  TileCount result;
  for (int a0 = 0; a0 < ranges.rows(); a0 += tile_rows)
    for (int b0 = 0; b0 < keys; b0 += tile_keys) {
      const int a1 = std::min(a0 + tile_rows, ranges.rows()), b1 = std::min(b0 + tile_keys, keys);
      int seen = 0;
      for (int a = a0; a < a1; ++a)
        for (int b = b0; b < b1; ++b) seen += visible[at(a)][at(b)];
      const Tile tile = ranges.tile(a0, a1, b0, b1);
      ++result.all;
      if (seen == 0) {
        ++result.empty;
        result.called_partial += tile == Tile::kPartial;
        result.wrong += tile == Tile::kFull;
      } else {
        result.wrong += tile != (seen == (a1 - a0) * (b1 - b0) ? Tile::kFull : Tile::kPartial);
      }
    }
  return result;
}

int wrong_transposed(const KeyRanges& seen, const Visible& visible, int keys) {
  int wrong = seen.rows() != keys;
  for (int b = 0; b < keys; ++b)
    for (int a = 0; a < static_cast<int>(visible.size()); ++a)
      wrong += visible[at(a)][at(b)] != (seen.begin[at(b)] <= a && a < seen.end[at(b)]);
  wrong += !std::ranges::is_sorted(seen.begin) || !std::ranges::is_sorted(seen.end);
  return wrong;
}

}  // namespace

TEST_CASE("key ranges agree with the predicate for random shard pairs") {
  Random random(41);
  TileCount as_one, each;  // of packed sequences that are dealt as one, and each by itself
  int shard_pairs = 0, causal_partial = 0;
  for (int i = 0; i < 400; ++i) {
    const Problem problem = random_problem(random, 6, 36);
    const Sharding sharding = problem.sharding();
    TileCount& total = problem.per_sequence ? each : as_one;
    INFO(described(problem));
    for (int rank = 0; rank < problem.world_size; ++rank)
      for (int source = 0; source < problem.world_size; ++source) {
        const auto queries = sharding.positions(rank), keys = sharding.positions(source);
        const Visible visible = visibility(problem.mask, queries, keys);
        const int key_count = static_cast<int>(keys.size());
        const KeyRanges ranges = key_ranges(problem, rank, source);
        int wrong = wrong_rows(ranges, visible, key_count);
        wrong += wrong_transposed(ranges.transposed(key_count), visible, key_count);
        for (const int rows : {1, 2, 3, 5, 64})
          for (const int cols : {1, 2, 4, 64}) {
            const TileCount tiles = judge_tiles(ranges, visible, key_count, rows, cols);
            wrong += tiles.wrong;
            wrong += ranges.tiles(key_count, rows, cols) != tiles.all - tiles.empty + tiles.called_partial;
            total.empty += tiles.empty;
            total.called_partial += tiles.called_partial;
            if (problem.mask == causal_mask() || problem.mask == full_mask())
              causal_partial += tiles.called_partial;
          }
        CHECK(wrong == 0);
        ++shard_pairs;
      }
  }
  CHECK(shard_pairs > 3000);
  CHECK(as_one.empty > 100000);
  CHECK(causal_partial == 0);                        // exact where every row begins at the first key
  CHECK(as_one.called_partial < as_one.empty / 20);  // nearly all empty tiles are skipped
  CHECK(each.empty > 50000);
  CHECK(each.called_partial < each.empty / 10);  // tiles with rows or keys of several sequences
}

TEST_CASE("a slice is the rows alone") {
  Random random(42);
  for (int i = 0; i < 200; ++i) {
    const Position seqlen = random.integer(1, 24);
    const Mask mask = random_mask(random, seqlen);
    const KeyRanges all = key_ranges(mask, seqlen);
    const Index first = random.integer(0, seqlen), rows = random.integer(0, seqlen - first);
    const KeyRanges part = all.slice(first, rows);
    REQUIRE(part.rows() == rows);
    for (Index a = 0; a < rows; ++a) {
      CHECK(part.begin[static_cast<std::size_t>(a)] == all.begin[static_cast<std::size_t>(first + a)]);
      CHECK(part.end[static_cast<std::size_t>(a)] == all.end[static_cast<std::size_t>(first + a)]);
    }
  }
}

TEST_CASE("one device holds all rows and keys") {
  const KeyRanges causal = key_ranges(causal_mask(), 5);
  CHECK(causal.begin == std::vector{0, 0, 0, 0, 0});
  CHECK(causal.end == std::vector{1, 2, 3, 4, 5});
  const KeyRanges window = key_ranges(Mask{.left = 1, .right = 1, .cu_seqlens = {0, 2, 5}}, 5);
  CHECK(window.begin == std::vector{0, 0, 2, 2, 3});
  CHECK(window.end == std::vector{2, 2, 4, 5, 5});
}

TEST_CASE("shards without rows or keys") {
  const std::vector<Position> none, some{0, 3, 4};
  CHECK(ranges_of(full_mask(), 5, none, some).rows() == 0);
  const KeyRanges blind = ranges_of(full_mask(), 5, some, none);
  CHECK(blind.rows() == 3);
  CHECK(blind.pairs() == 0);
  CHECK(blind.transposed(0).rows() == 0);
  CHECK(ranges_of(full_mask(), 5, none, some).transposed(3).pairs() == 0);
}
