// Equivalent: two rounds are one period of 2N tokens.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  if (layout == Layout::kStriped) return rank + row * world_size;
  const Index period = 2 * static_cast<Index>(world_size), there = rank, back = period - 1 - rank;
  return row / 2 * period + (row % 2 == 0 ? there : back);
}

int token_owner(Layout layout, int world_size, Position position) {
  if (layout == Layout::kStriped) return static_cast<int>(position % world_size);
  const Index period = 2 * static_cast<Index>(world_size), place = position % period;
  return static_cast<int>(std::min(place, period - 1 - place));
}

}  // namespace ringcraft
