// Mistake: lo is max(start, p_in_sequence - left), with the position that begins again at 0 in every sequence, instead of max(start, p - left) with the global one: windows are right in the first sequence, and too wide (mostly the whole sequence so far) in all others.
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
  const Position token = p - start, length = end - start;  // inside of its sequence
  const Position lo = mask_.left >= token ? start : std::max(start, token - mask_.left);
  const Position hi = mask_.right >= length - token ? end : std::min(end, p + mask_.right + 1);
  return {lo, hi};
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  MaskCursor cursor(mask, seqlen);
  KeyRanges ranges;
  ranges.begin.reserve(queries.size());
  ranges.end.reserve(queries.size());
  std::size_t passed = 0, reached = 0;
  for (const Position query : queries) {
    const auto [lo, hi] = cursor.at(query);
    while (passed < keys.size() && keys[passed] < lo) ++passed;
    while (reached < keys.size() && keys[reached] < hi) ++reached;
    ranges.begin.push_back(static_cast<int>(passed));
    ranges.end.push_back(static_cast<int>(reached));
  }
  return ranges;
}

}  // namespace ringcraft
