// IT1: positions are counted in 32 bits.
// Fails: far-away "is given to rank"
// Hint: What is the largest number in 32 bits, and how many tokens or pairs are there?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {
namespace {

int owner(Layout layout, int world_size, int position) {
  const bool backwards = layout == Layout::kZigzagToken && position / world_size % 2 == 1;
  return backwards ? world_size - 1 - position % world_size : position % world_size;
}

}  // namespace

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  return row * world_size + (backwards ? world_size - 1 - rank : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  return owner(layout, world_size, static_cast<int>(position));
}

}  // namespace ringcraft
