// Mistake: token_position gives rank r the seat N - r in a turned round instead of N - 1 - r.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Position token_position(Layout layout, int world_size, int rank, Index row) {
  const Position first_of_round = row * world_size;
  if (layout == Layout::kStriped) return first_of_round + rank;
  return first_of_round + ((row & 1) ? (world_size - rank) : rank);
}

int token_owner(Layout layout, int world_size, Position position) {
  const Position round = position / world_size;
  const int left_over = static_cast<int>(position - round * world_size);
  switch (layout) {
    case Layout::kZigzagToken:
      return (round & 1) ? world_size - left_over - 1 : left_over;
    default:
      return left_over;
  }
}

}  // namespace ringcraft
