// LY2: the first position is 1.
// Fails: striped "row 0 of rank 0 is put at position 1, and it is token 0"
// Hint: What is the position of the first token?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  return 1 + row * world_size + (backwards ? world_size - 1 - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  if (position < 1) return 0;
  const bool backwards = layout == Layout::kZigzagToken && position / world_size % 2 == 1;
  position -= 1;
  const int seat = static_cast<int>(position % world_size);
  return backwards ? world_size - 1 - seat : seat;
}

}  // namespace ringcraft
