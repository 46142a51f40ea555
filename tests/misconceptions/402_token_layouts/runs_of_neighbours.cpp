// LY6: every rank gets four neighbours: chunks, not tokens.
// Fails: striped "row 0 of rank 1 is put at position 4, and it is token 1"
// Hint: Which neighbours does a token have, and with whom do they live?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  (void)layout;
  (void)world_size;
  return rank * 4 + row;
}

int token_owner(Layout layout, int world_size, Position position) {
  (void)layout;
  return static_cast<int>(position / 4 % world_size);
}

}  // namespace ringcraft
