// Mistake: the first token of each backward round of the token zig-zag is given by token_owner to rank 0, as in a forward round, instead of to rank N - 1.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  const int seat = backwards ? world_size - 1 - rank : rank;
  return row * world_size + seat;
}

int token_owner(Layout layout, int world_size, Position position) {
  if (layout == Layout::kZigzagToken) {
    const Position two_rounds = 2 * static_cast<Position>(world_size);
    const Position x = position % two_rounds;
    if (x > world_size) return static_cast<int>(two_rounds - 1 - x);
  }
  return static_cast<int>(position % world_size);
}

}  // namespace ringcraft
