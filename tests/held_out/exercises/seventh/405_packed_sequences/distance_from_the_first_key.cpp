// Mistake: ranges_of takes the distance of lo and hi from the first key of the block, cut to 0 and the number of keys, as the local numbers: as if every block were one stretch of consecutive positions. Right for contiguous shards, wrong for striped and zig-zag ones and for sequences dealt by themselves.
// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  Position start = 0, end = seqlen_;
  if (!mask_.cu_seqlens.empty()) {
    while (mask_.cu_seqlens[sequence_ + 1] <= p) ++sequence_;
    start = mask_.cu_seqlens[sequence_];
    end = mask_.cu_seqlens[sequence_ + 1];
  }
  const Position lo = mask_.left >= p - start ? start : p - mask_.left;
  const Position hi = mask_.right >= end - p ? end : p + mask_.right + 1;
  return {lo, hi};
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  MaskCursor cursor(mask, seqlen);
  KeyRanges local;
  const Position offset = keys.empty() ? 0 : keys.front(), length = static_cast<Position>(keys.size());
  const auto row_of = [&](Position global) {
    return static_cast<int>(std::clamp<Position>(global - offset, 0, length));
  };
  for (const Position q : queries) {
    const KeyInterval global = cursor.at(q);
    local.begin.push_back(row_of(global.lo));
    local.end.push_back(row_of(global.hi));
  }
  return local;
}

}  // namespace ringcraft
