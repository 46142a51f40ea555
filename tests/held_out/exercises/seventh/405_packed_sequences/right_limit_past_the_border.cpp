// Mistake: hi is min(seqlen, p + right + 1): a limit on the right is cut at the end of the whole row only, not at the end of the sequence, so the last queries of a sequence see the first keys of the next one. Causal masks (right = 0) and masks without a limit on the right are right.
// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  Position start = 0, end = seqlen_;
  if (!mask_.cu_seqlens.empty()) {
    const std::vector<Position>& borders = mask_.cu_seqlens;
    while (borders[sequence_ + 1] <= p) ++sequence_;
    start = borders[sequence_];
    end = borders[sequence_ + 1];
  }
  const Position before = p - start, after = seqlen_ - 1 - p;
  return {mask_.left < before ? p - mask_.left : start,
          mask_.right == kNoLimit ? end : p + 1 + (mask_.right < after ? mask_.right : after)};
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  MaskCursor cursor(mask, seqlen);
  KeyRanges r;
  int lower = 0, upper = 0;
  const int n = static_cast<int>(keys.size());
  for (std::size_t a = 0; a < queries.size(); ++a) {
    const KeyInterval i = cursor.at(queries[a]);
    for (; lower < n && keys[static_cast<std::size_t>(lower)] < i.lo; ++lower) continue;
    for (; upper < n && keys[static_cast<std::size_t>(upper)] < i.hi; ++upper) continue;
    r.begin.push_back(lower);
    r.end.push_back(upper);
  }
  return r;
}

}  // namespace ringcraft
