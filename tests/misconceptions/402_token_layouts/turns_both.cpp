// LY9: striped rounds are turned, too.
// Fails: striped "row 1 of rank 0 is put at position 7, and it is token 4"
// Hint: Which of the two layouts turns its rounds?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = row % 2 == 1;
  return row * world_size + (backwards ? world_size - 1 - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const bool backwards = position / world_size % 2 == 1;
  const int seat = static_cast<int>(position % world_size);
  return backwards ? world_size - 1 - seat : seat;
}

}  // namespace ringcraft
