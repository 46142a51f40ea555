// Mistake: The cursor passes at most one border in a call of `at` (an if instead of a while): when positions jump over whole sequences (shards that leave some out, sequences of one token), it stays behind and answers with the borders of an earlier sequence.
// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  Position first = 0, past = seqlen_;
  if (!mask_.cu_seqlens.empty()) {
    if (p >= mask_.cu_seqlens[sequence_ + 1]) ++sequence_;
    first = mask_.cu_seqlens[sequence_];
    past = mask_.cu_seqlens[sequence_ + 1];
  }
  KeyInterval seen{first, past};
  if (mask_.left < p - first) seen.lo = p - mask_.left;
  if (mask_.right < past - p - 1) seen.hi = p + mask_.right + 1;
  return seen;
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  KeyRanges ranges;
  MaskCursor cursor(mask, seqlen);
  auto before_lo = keys.begin(), before_hi = keys.begin();
  for (const Position query : queries) {
    const KeyInterval seen = cursor.at(query);
    before_lo = std::lower_bound(before_lo, keys.end(), seen.lo);
    before_hi = std::lower_bound(before_hi, keys.end(), seen.hi);
    ranges.begin.push_back(static_cast<int>(before_lo - keys.begin()));
    ranges.end.push_back(static_cast<int>(before_hi - keys.begin()));
  }
  return ranges;
}

}  // namespace ringcraft
