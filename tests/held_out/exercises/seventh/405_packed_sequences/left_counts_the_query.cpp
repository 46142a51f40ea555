// Mistake: Two mistakes. (1) lo is p - left + 1: a window of W shows W keys, the query counted, instead of W + 1 (with left = 0 the query itself stays visible). (2) ranges_of returns two empty lists if the block has no keys, instead of an empty range for each row.
// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  KeyInterval sequence{0, seqlen_};
  if (!mask_.cu_seqlens.empty()) {
    while (mask_.cu_seqlens[sequence_ + 1] <= p) ++sequence_;
    sequence = {mask_.cu_seqlens[sequence_], mask_.cu_seqlens[sequence_ + 1]};
  }
  KeyInterval seen = sequence;
  if (mask_.left <= p - sequence.lo) seen.lo = std::max(sequence.lo, std::min(p, p - mask_.left + 1));
  if (mask_.right < sequence.hi - p) seen.hi = p + mask_.right + 1;
  seen.hi = std::min(seen.hi, sequence.hi);
  return seen;
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  if (keys.empty()) return {};
  MaskCursor cursor(mask, seqlen);
  KeyRanges result;
  auto lo = keys.begin(), hi = keys.begin();
  for (const Position q : queries) {
    const KeyInterval seen = cursor.at(q);
    lo = std::find_if(lo, keys.end(), [&](Position key) { return key >= seen.lo; });
    hi = std::find_if(hi, keys.end(), [&](Position key) { return key >= seen.hi; });
    result.begin.push_back(static_cast<int>(lo - keys.begin()));
    result.end.push_back(static_cast<int>(hi - keys.begin()));
  }
  return result;
}

}  // namespace ringcraft
