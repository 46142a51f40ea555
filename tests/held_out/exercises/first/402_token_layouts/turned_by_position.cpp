// Mistake: token_owner turns the seat where the position is odd instead of where the round, position / N, is odd.
// Lesson 402: layouts that deal single tokens to ranks (see deal.hpp). Sharding asks these two functions who
// owns what, so every striped and every token zig-zag ring runs on them.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const bool turned = layout == Layout::kZigzagToken && row % 2 == 1;
  const int seat = turned ? world_size - 1 - rank : rank;
  return row * world_size + seat;
}

int token_owner(Layout layout, int world_size, Position position) {
  const int seat = static_cast<int>(position % world_size);
  if (layout == Layout::kZigzagToken && position % 2 == 1) return world_size - 1 - seat;
  return seat;
}

}  // namespace ringcraft
