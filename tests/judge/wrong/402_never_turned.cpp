// No round runs backwards: the zig-zag is striped.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  (void)layout;
  return row * world_size + rank;
}

int token_owner(Layout layout, int world_size, Position position) {
  (void)layout;
  return static_cast<int>(position % world_size);
}

}  // namespace ringcraft
