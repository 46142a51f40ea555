#pragma once
/// @file
/// The exercises of this lesson: the keys that positions see, and the local rows of them in a shard. Each is
/// called for a whole list, and its steps are counted.

#include "judge/wire/exercise.hpp"
#include "judge/worker/steps.hpp"
#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft::judge {

/// The answers of one cursor to one position after another.
struct CursorWalk {
  std::vector<KeyInterval> intervals;
  std::int64_t steps = 0;
  static auto fields(auto& self) { return std::tie(self.intervals, self.steps); }
};

/// Moves a cursor over these positions, which do not decrease.
inline CursorWalk walk_cursor(const Mask& mask, Position seqlen, std::span<const Position> positions) {
  CursorWalk walk;
  MaskCursor cursor(mask, seqlen);
  for (const Position p : positions) walk.steps += steps_of([&] { walk.intervals.push_back(cursor.at(p)); });
  return walk;
}

/// The ranges of a shard of queries against a shard of keys.
struct ShardRanges {
  KeyRanges ranges;
  std::int64_t steps = 0;
  static auto fields(auto& self) { return std::tie(self.ranges, self.steps); }
};

/// Calls ranges_of once.
inline ShardRanges shard_ranges(const Mask& mask, Position seqlen, std::span<const Position> queries,
                                std::span<const Position> keys) {
  ShardRanges shard;
  shard.steps = steps_of([&] { shard.ranges = ranges_of(mask, seqlen, queries, keys); });
  return shard;
}

using WalkCursor = Exercise<&walk_cursor, "MaskCursor::at">;
using RangesOf = Exercise<&shard_ranges, "ranges_of">;

}  // namespace ringcraft::judge
