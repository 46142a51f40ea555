// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  // BEGIN SOLUTION 405 [at]
  Position start = 0, end = seqlen_;
  if (!mask_.cu_seqlens.empty()) {
    while (mask_.cu_seqlens[sequence_ + 1] <= p) ++sequence_;
    start = mask_.cu_seqlens[sequence_];
    end = mask_.cu_seqlens[sequence_ + 1];
  }
  // Written as comparisons of distances, so that no limit, however large, overflows.
  return {mask_.left >= p - start ? start : p - mask_.left,
          mask_.right >= end - 1 - p ? end : p + mask_.right + 1};
  // END SOLUTION [at]
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  // BEGIN SOLUTION 405 [ranges_of]
  KeyRanges ranges;
  MaskCursor cursor(mask, seqlen);
  std::size_t b = 0, e = 0;  // the first key at or after lo, and at or after hi
  for (const Position p : queries) {
    const auto [lo, hi] = cursor.at(p);
    while (b < keys.size() && keys[b] < lo) ++b;
    while (e < keys.size() && keys[e] < hi) ++e;
    ranges.begin.push_back(static_cast<int>(b));
    ranges.end.push_back(static_cast<int>(e));
  }
  return ranges;
  // END SOLUTION [ranges_of]
}

}  // namespace ringcraft
