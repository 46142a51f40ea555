// RX18: the backwards seat as a remainder that goes below 0.
// Fails: first-rounds "row 1 of rank 2 is put at position 1, and it is token 5"
// Hint: What is -1 % 4 in C++?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  return row * world_size + (backwards ? (-1 - rank) % world_size : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const bool backwards = layout == Layout::kZigzagToken && position / world_size % 2 == 1;
  const int seat = static_cast<int>(position % world_size);
  return backwards ? world_size - 1 - seat : seat;
}

}  // namespace ringcraft
