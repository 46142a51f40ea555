// Mistake: token_position moves the striped layout on by one seat in every round instead of keeping the seat of the rank; and token_owner cuts the position to 32 bits before it divides instead of keeping 64.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  Position seat = (rank + row) % world_size;
  if (layout == Layout::kZigzagToken) seat = row % 2 == 0 ? rank : world_size - 1 - rank;
  return row * world_size + seat;
}

int token_owner(Layout layout, int world_size, Position position) {
  const unsigned p = static_cast<unsigned>(position), n = static_cast<unsigned>(world_size);
  const unsigned round = p / n, seat = p % n;
  const bool backwards = layout == Layout::kZigzagToken && round % 2 == 1;
  return static_cast<int>(backwards ? n - 1 - seat : seat);
}

}  // namespace ringcraft
