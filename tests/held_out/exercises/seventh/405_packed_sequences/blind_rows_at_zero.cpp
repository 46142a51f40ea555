// Mistake: A row that sees no key of the block gets the range [0, 0) instead of one at its place, so the lists decrease where such a row follows rows that see keys.
// Lesson 405: which keys a query sees, by position and as local rows of a shard. Every mask of the course
// enters the ring here, packed sequences included, and nowhere else.
#include "ringcraft/problem/key_ranges.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

KeyInterval MaskCursor::at(Position p) {
  Position start = 0, end = seqlen_;
  if (const auto& borders = mask_.cu_seqlens; !borders.empty()) {
    for (; borders[sequence_ + 1] <= p; ++sequence_) continue;
    start = borders[sequence_];
    end = borders[sequence_ + 1];
  }
  const Position back = std::min(mask_.left, p - start);
  const Position ahead = std::min(mask_.right, end - 1 - p);
  return {p - back, p + ahead + 1};
}

KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys) {
  KeyRanges ranges{std::vector<int>(queries.size(), 0), std::vector<int>(queries.size(), 0)};
  MaskCursor cursor(mask, seqlen);
  std::size_t begin = 0, end = 0;
  for (std::size_t row = 0; row < queries.size(); ++row) {
    const KeyInterval seen = cursor.at(queries[row]);
    while (begin < keys.size() && keys[begin] < seen.lo) ++begin;
    while (end < keys.size() && keys[end] < seen.hi) ++end;
    if (begin == end) continue;  // nothing to see
    ranges.begin[row] = static_cast<int>(begin);
    ranges.end[row] = static_cast<int>(end);
  }
  return ranges;
}

}  // namespace ringcraft
