// LY4: there are four ranks.
// Fails: any-ranks "striped, 2 ranks: row 1 of rank 0 is put at position 4, and it is token 2"
// Hint: Which size did you write as a number, and who says that it stays so?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  return row * 4 + (backwards ? 3 - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const bool backwards = layout == Layout::kZigzagToken && position / 4 % 2 == 1;
  const int seat = static_cast<int>(position % 4);
  return backwards ? 3 - seat : seat;
}

}  // namespace ringcraft
