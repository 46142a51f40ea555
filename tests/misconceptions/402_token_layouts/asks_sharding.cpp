// LY1: asks the library, which asks this very function.
// Fails: striped "overflowed its stack (a function that calls itself without end"
// Hint: Whom does that function ask, and whom does the one it asks ask?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  return Sharding{layout, kNoLimit, world_size}.global_from_local(rank, row);
}

int token_owner(Layout layout, int world_size, Position position) {
  return Sharding{layout, kNoLimit, world_size}.owner_of(position);
}

}  // namespace ringcraft
