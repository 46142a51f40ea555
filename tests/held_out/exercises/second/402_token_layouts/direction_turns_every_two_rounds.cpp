// Mistake: both functions turn the direction of the token zig-zag after every two rounds instead of after every round.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

namespace {

bool runs_backwards(Layout layout, Index round) {
  return layout == Layout::kZigzagToken && (round / 2) % 2 == 1;
}

}  // namespace

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const Position first = row * world_size;
  if (runs_backwards(layout, row)) return first + world_size - 1 - rank;
  return first + rank;
}

int token_owner(Layout layout, int world_size, Position position) {
  const Index round = position / world_size;
  const int seat = static_cast<int>(position - round * world_size);
  return runs_backwards(layout, round) ? world_size - 1 - seat : seat;
}

}  // namespace ringcraft
