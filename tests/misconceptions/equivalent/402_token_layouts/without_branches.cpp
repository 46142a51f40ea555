// Equivalent: a sign instead of a branch.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const Index sign = layout == Layout::kZigzagToken ? 1 - 2 * (row % 2) : 1;  // 1 or -1
  return row * world_size + (1 - sign) / 2 * (world_size - 1) + sign * rank;
}

int token_owner(Layout layout, int world_size, Position position) {
  const Index round = position / world_size, seat = position - round * world_size;
  const Index odd = layout == Layout::kZigzagToken ? round % 2 : 0;
  return static_cast<int>(odd * (world_size - 1) + (1 - 2 * odd) * seat);
}

}  // namespace ringcraft
