// Mistake: The neighbours are taken to be the ranks of the same rank mod degree, a column of the grid, and not those of the same rank / degree. With as many neighbours as ranks that leaves the rank alone.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  const Index n = shape.heads / degree;
  return {.query = {n * member, n},
          .kv = {n * member / shape.group(), std::max<Index>(1, n / shape.group())}};
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  const std::vector<Position> own = sharding.positions(rank);
  std::vector<Index> rows(own.size(), 0);
  for (int other = rank % degree; other < sharding.world_size; other += degree) {
    const std::vector<Position> theirs = sharding.positions(other);
    std::size_t t = 0;
    for (std::size_t a = 0; a < own.size(); ++a) {
      for (; t < theirs.size() && theirs[t] < own[a]; ++t) {
      }
      rows[a] += static_cast<Index>(t);
    }
  }
  return rows;
}

}  // namespace ringcraft
