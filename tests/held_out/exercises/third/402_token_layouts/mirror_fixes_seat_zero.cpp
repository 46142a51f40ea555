// Mistake: token_owner mirrors the seat of a turned round as (N - seat) mod N instead of N - 1 - seat, so in odd rounds of the token zig-zag it names the right rank plus 1 (modulo N); token_position is right.
// Lesson 402: layouts that deal single tokens to ranks (see deal.hpp). Sharding asks these two functions who
// owns what, so every striped and every token zig-zag ring runs on them.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const Position begin = row * world_size;
  switch (layout) {
    case Layout::kZigzagToken:
      if (row % 2 != 0) return begin + (world_size - 1) - rank;
      [[fallthrough]];
    default:
      return begin + rank;
  }
}

int token_owner(Layout layout, int world_size, Position position) {
  const auto seat = static_cast<int>(position % world_size);
  if (layout != Layout::kZigzagToken) return seat;
  const bool turned = (position / world_size) % 2 != 0;
  if (!turned) return seat;
  // the same seat, counted from the other end
  return (world_size - seat) % world_size;
}

}  // namespace ringcraft
