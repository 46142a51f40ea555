// Mistake: In the odd rounds of the token zig-zag rank r sits at (N - r) mod N instead of N - 1 - r (and token_owner inverts just that): rank 0 is first in every round and only the other ranks are reversed. Even rounds and the striped layout are right.
// Lesson 402: layouts that deal single tokens to ranks (see deal.hpp). Sharding asks these two functions who
// owns what, so every striped and every token zig-zag ring runs on them.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {
namespace {

// The seat of a rank in a round, and the rank of a seat: the same map both ways.
int seat_or_rank(Layout layout, int n, Index round, int x) {
  if (layout != Layout::kZigzagToken) return x;
  if (round % 2 == 0) return x;
  return (n - x) % n;  // counted from the other end
}

}  // namespace

Position token_position(Layout layout, int world_size, int rank, Index row) {
  return Position{world_size} * row + seat_or_rank(layout, world_size, row, rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const Index round = position / world_size;
  return seat_or_rank(layout, world_size, round, static_cast<int>(position - round * world_size));
}

}  // namespace ringcraft
