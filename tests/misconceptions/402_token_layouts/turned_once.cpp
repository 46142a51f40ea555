// LY8: only the second round runs backwards.
// Fails: zigzag "row 3 of rank 3 is put at position 15, and it is token 12"
// Hint: How many rounds are there, and which of them run backwards?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row == 1;
  return row * world_size + (backwards ? world_size - 1 - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const bool backwards = layout == Layout::kZigzagToken && position / world_size == 1;
  const int seat = static_cast<int>(position % world_size);
  return backwards ? world_size - 1 - seat : seat;
}

}  // namespace ringcraft
