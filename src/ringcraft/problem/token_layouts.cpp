// Lesson 402: layouts that deal single tokens to ranks (see deal.hpp). Sharding asks these two functions who
// owns what, so every striped and every token zig-zag ring runs on them.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  // BEGIN SOLUTION 402 [token_position]
  const bool backwards = layout == Layout::kZigzagToken && row % 2 == 1;
  const int seat = backwards ? world_size - 1 - rank : rank;  // the place of the rank in this round
  return row * world_size + seat;
  // END SOLUTION [token_position]
}

int token_owner(Layout layout, int world_size, Position position) {
  // BEGIN SOLUTION 402 [token_owner]
  const Index round = position / world_size;
  const int seat = static_cast<int>(position % world_size);
  const bool backwards = layout == Layout::kZigzagToken && round % 2 == 1;
  return backwards ? world_size - 1 - seat : seat;
  // END SOLUTION [token_owner]
}

}  // namespace ringcraft
