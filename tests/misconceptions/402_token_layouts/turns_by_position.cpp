// LY10: the owner turns odd positions, not odd rounds.
// Fails: there-and-back "you give position 29 to rank 0, and there row 4 is position 24"
// Hint: Is it the position or the round that is odd?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  return row * world_size + (backwards ? world_size - 1 - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const bool backwards = layout == Layout::kZigzagToken && position % 2 == 1;
  const int seat = static_cast<int>(position % world_size);
  return backwards ? world_size - 1 - seat : seat;
}

}  // namespace ringcraft
