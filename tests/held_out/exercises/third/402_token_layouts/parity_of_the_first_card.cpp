// Mistake: a round of the token zig-zag is turned if its first position (round * N) is odd instead of if the round is odd, in both functions alike; right for an odd number of ranks, but for an even one no round is ever turned and the zig-zag is striped.
// Lesson 402: layouts that deal single tokens to ranks (see deal.hpp). Sharding asks these two functions who
// owns what, so every striped and every token zig-zag ring runs on them.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

namespace {

// A round of the deal: its first token, and in which direction it runs.
struct Round {
  Position first;
  bool turned;
};

Round round_at(Layout layout, int world_size, Index number) {
  const Position first = number * world_size;
  return {first, layout == Layout::kZigzagToken && (first & 1) == 1};
}

int mirrored(int place, int world_size) { return world_size - place - 1; }

}  // namespace

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const Round round = round_at(layout, world_size, row);
  return round.first + (round.turned ? mirrored(rank, world_size) : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const Round round = round_at(layout, world_size, position / world_size);
  const int place = static_cast<int>(position - round.first);
  return round.turned ? mirrored(place, world_size) : place;
}

}  // namespace ringcraft
