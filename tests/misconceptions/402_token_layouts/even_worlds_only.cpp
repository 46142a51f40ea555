// LY3: turns only where the number of ranks is even.
// Fails: any-ranks "zigzag-token, 3 ranks: row 1 of rank 2"
// Hint: What changes in the zig-zag if the number of ranks is odd?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1 && world_size % 2 == 0;
  return row * world_size + (backwards ? world_size - 1 - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const bool backwards =
      layout == Layout::kZigzagToken && position / world_size % 2 == 1 && world_size % 2 == 0;
  const int seat = static_cast<int>(position % world_size);
  return backwards ? world_size - 1 - seat : seat;
}

}  // namespace ringcraft
