// Mistake: Where the mask has no limit on the right, hi is the length of the whole row, also in a pack: a full mask sees into all later sequences. The left side, and masks with a limit on the right, stop at the border rightly.
// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  Position begin = 0, end = seqlen_;
  if (mask_.cu_seqlens.size() > 1) {
    while (p >= mask_.cu_seqlens[sequence_ + 1]) sequence_++;
    begin = mask_.cu_seqlens[sequence_];
    end = mask_.cu_seqlens[sequence_ + 1];
  }
  // Never add to a limit: it may be the largest number there is.
  const Position lo = mask_.left == kNoLimit ? begin : std::max(begin, p - mask_.left);
  const Position hi = mask_.right == kNoLimit ? seqlen_ : p + 1 + std::min(mask_.right, end - p - 1);
  return {lo, hi};
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  MaskCursor cursor(mask, seqlen);
  KeyRanges out;
  std::size_t first = 0, past = 0;
  for (const Position p : queries) {
    const auto [lo, hi] = cursor.at(p);
    while (first != keys.size() && keys[first] < lo) ++first;
    while (past != keys.size() && keys[past] < hi) ++past;
    out.begin.emplace_back(static_cast<int>(first));
    out.end.emplace_back(static_cast<int>(past));
  }
  return out;
}

}  // namespace ringcraft
