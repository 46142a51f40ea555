// Mistake: in the token zig-zag every round begins one seat later (the seat of a rank is (rank + round) mod N, the owner (seat - round) mod N) instead of every odd round running backwards (seat N - 1 - rank); both functions agree with each other; striped, and any layout of one or two ranks, is right.
// Lesson 402: layouts that deal single tokens to ranks (see deal.hpp). Sharding asks these two functions who
// owns what, so every striped and every token zig-zag ring runs on them.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

namespace {

// Where rank 0 sits in this round.
int shift_of(Layout layout, int world_size, Index round) {
  return layout == Layout::kZigzagToken ? static_cast<int>(round % world_size) : 0;
}

}  // namespace

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const int seat = (rank + shift_of(layout, world_size, row)) % world_size;
  return row * world_size + seat;
}

int token_owner(Layout layout, int world_size, Position position) {
  const Index round = position / world_size;
  const int seat = static_cast<int>(position - round * world_size);
  return (seat + world_size - shift_of(layout, world_size, round)) % world_size;
}

}  // namespace ringcraft
