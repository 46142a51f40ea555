// Mistake: the owner in the token zig-zag bounces with a period of 2N - 2, so that the ranks at both ends get one token at a turn instead of two in a row.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  const int seat = backwards ? world_size - 1 - rank : rank;
  return row * world_size + seat;
}

int token_owner(Layout layout, int world_size, Position position) {
  if (layout == Layout::kStriped || world_size == 1) return static_cast<int>(position % world_size);
  const Position period = 2 * (world_size - 1);
  const Position x = position % period;
  return static_cast<int>(x < world_size ? x : period - x);
}

}  // namespace ringcraft
