// Equivalent: seat and rank of a round are the same map in both directions.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {
namespace {

Index turned(Layout layout, Index world_size, Index round, Index seat) {
  if (layout == Layout::kStriped || (round & 1) == 0) return seat;
  return world_size - 1 - seat;
}

}  // namespace

Position token_position(Layout layout, int world_size, int rank, Index row) {
  return row * world_size + turned(layout, world_size, row, rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  return static_cast<int>(turned(layout, world_size, position / world_size, position % world_size));
}

}  // namespace ringcraft
