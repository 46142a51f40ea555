// Mistake: ranges_of leaves its loop as soon as all keys lie before lo, so the rows from there on are missing: the lists are shorter than the queries.
// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  Position start = 0, end = seqlen_;
  if (!mask_.cu_seqlens.empty()) {
    while (mask_.cu_seqlens[sequence_ + 1] <= p) ++sequence_;
    start = mask_.cu_seqlens[sequence_];
    end = mask_.cu_seqlens[sequence_ + 1];
  }
  if (mask_.left < p - start) start = p - mask_.left;
  if (mask_.right < end - p) end = p + mask_.right + 1;
  return {start, end};
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  MaskCursor cursor(mask, seqlen);
  KeyRanges ranges;
  const std::size_t last = keys.size();
  std::size_t b = 0, e = 0;
  for (const Position position : queries) {
    const auto [lo, hi] = cursor.at(position);
    while (b < last && keys[b] < lo) ++b;
    if (b == last) break;  // no later row sees any
    while (e < last && keys[e] < hi) ++e;
    ranges.begin.push_back(int(b));
    ranges.end.push_back(int(e));
  }
  return ranges;
}

}  // namespace ringcraft
