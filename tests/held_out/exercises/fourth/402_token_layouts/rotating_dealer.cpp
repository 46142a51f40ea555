// Mistake: In the token zig-zag, odd rounds are not reversed but every round is rotated by one seat more than the round before: rank r gets seat (r + row) mod N of round row instead of seat r (even rows) or N - 1 - r (odd rows), and token_owner inverts just this. The same as the zig-zag for N = 1 and 2; striped is right.
// Lesson 402: layouts that deal single tokens to ranks (see deal.hpp). Sharding asks these two functions who
// owns what, so every striped and every token zig-zag ring runs on them.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const Position dealt = row * world_size;  // tokens of all rounds before this one
  if (layout == Layout::kStriped) return dealt + rank;
  // Another seat in every round, so that nobody always comes last.
  return dealt + (rank + row) % world_size;
}

int token_owner(Layout layout, int world_size, Position position) {
  const Index round = position / world_size, seat = position % world_size;
  if (layout == Layout::kStriped) return static_cast<int>(seat);
  const Index shift = round % world_size;
  return static_cast<int>((seat + world_size - shift) % world_size);
}

}  // namespace ringcraft
