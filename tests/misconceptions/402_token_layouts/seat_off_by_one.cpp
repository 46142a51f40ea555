// LY7: the last rank sits first in a turned round; here at seat 1.
// Fails: first-rounds "row 1 of rank 3 is put at position 5, and it is token 4"
// Hint: Count from 0: what is the number of the last one?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  return row * world_size + (backwards ? world_size - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const bool backwards = layout == Layout::kZigzagToken && position / world_size % 2 == 1;
  const int seat = static_cast<int>(position % world_size);
  return backwards ? world_size - seat : seat;
}

}  // namespace ringcraft
