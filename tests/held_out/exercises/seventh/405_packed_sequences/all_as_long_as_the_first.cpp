// Mistake: All sequences are taken to be as long as the first one: start and end are multiples of cu_seqlens[1] (the last one cut at seqlen) instead of the borders in cu_seqlens. Right for packs of equal lengths.
// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  const Position length = mask_.cu_seqlens.empty() ? seqlen_ : mask_.cu_seqlens[1];
  const Position start = p / length * length;
  const Position end = std::min(start + length, seqlen_);
  return {mask_.left < p - start ? p - mask_.left : start, mask_.right < end - p ? p + mask_.right + 1 : end};
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  MaskCursor cursor(mask, seqlen);
  KeyRanges out;
  const auto count_before = [&keys](Position limit) {
    return static_cast<int>(std::lower_bound(keys.begin(), keys.end(), limit) - keys.begin());
  };
  std::ranges::for_each(queries, [&](Position q) {
    const KeyInterval seen = cursor.at(q);
    out.begin.push_back(count_before(seen.lo));
    out.end.push_back(count_before(seen.hi));
  });
  return out;
}

}  // namespace ringcraft
