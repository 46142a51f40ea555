// Mistake: token_owner narrows the position to unsigned 32 bits before it computes round and seat, so for positions of 2^32 and more it returns the owner of (position mod 2^32), which is in general another rank unless N (in the zig-zag 2N) divides 2^32. token_position is right.
// Lesson 402: layouts that deal single tokens to ranks (see deal.hpp). Sharding asks these two functions who
// owns what, so every striped and every token zig-zag ring runs on them.
#include <cstdint>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {
namespace {

// In a turned round the last seat belongs to rank 0. Its own inverse.
constexpr int turned(int world_size, int seat) { return world_size - 1 - seat; }

}  // namespace

Position token_position(Layout layout, int world_size, int rank, Index row) {
  switch (layout) {
    case Layout::kZigzagToken:
      if (row % 2 != 0) return row * world_size + turned(world_size, rank);
      [[fallthrough]];
    default:
      return row * world_size + rank;
  }
}

int token_owner(Layout layout, int world_size, Position position) {
  const auto n = static_cast<std::uint32_t>(world_size);
  const auto token = static_cast<std::uint32_t>(position);
  const auto round = token / n;
  const int seat = static_cast<int>(token - round * n);
  if (layout == Layout::kZigzagToken && (round & 1u)) return turned(world_size, seat);
  return seat;
}

}  // namespace ringcraft
