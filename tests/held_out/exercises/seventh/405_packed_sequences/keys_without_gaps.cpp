// Mistake: ranges_of counts the keys before lo rightly, but takes end = begin + (hi - lo), cut at the number of keys, as if the keys of the block from there on were consecutive positions. Right for contiguous shards that begin in the interval, wrong in striped and zig-zag blocks and where only the end of the interval reaches the block.
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
  return {p - std::min(mask_.left, p - start), p + std::min(mask_.right, end - p - 1) + 1};
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  MaskCursor cursor(mask, seqlen);
  KeyRanges ranges;
  Index b = 0;
  const Index count = static_cast<Index>(keys.size());
  for (const Position q : queries) {
    const auto [lo, hi] = cursor.at(q);
    while (b < count && keys[static_cast<std::size_t>(b)] < lo) ++b;
    ranges.begin.push_back(static_cast<int>(b));
    ranges.end.push_back(static_cast<int>(std::min(count, b + (hi - lo))));
  }
  return ranges;
}

}  // namespace ringcraft
