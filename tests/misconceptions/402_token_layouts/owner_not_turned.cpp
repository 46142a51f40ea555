// LY5: the owner is looked up as if no round ran backwards.
// Fails: zigzag-owner "position 4 is given to rank 0, and rank 3 gets it"
// Hint: If a round runs backwards for those who get tokens, how does it run for those who look for the owner?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  return row * world_size + (backwards ? world_size - 1 - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  (void)layout;
  return static_cast<int>(position % world_size);
}

}  // namespace ringcraft
