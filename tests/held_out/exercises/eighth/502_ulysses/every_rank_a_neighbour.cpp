// Mistake: Rows are numbered among those of all ranks of the world, and not of the neighbours alone: a row gets its position in the sequence. That is right when all ranks are neighbours.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  const Index count = shape.heads / degree;
  const Index first = count * member;
  const Index last = first + count - 1;
  const Index kv_first = first / shape.group(), kv_last = last / shape.group();
  return {{first, count}, {kv_first, kv_last - kv_first + 1}};
}

std::vector<Index> joined_rows(const Sharding& sharding, int /*degree*/, int rank) {
  const std::vector<Position> own = sharding.positions(rank);
  std::vector<Index> rows(own.size());
  for (int r = 0; r < sharding.world_size; ++r) {
    const std::vector<Position> theirs = sharding.positions(r);
    std::size_t n = 0;
    for (std::size_t a = 0; a < own.size(); ++a) {
      while (n < theirs.size() && theirs[n] < own[a]) ++n;
      rows[a] += static_cast<Index>(n);
    }
  }
  return rows;
}

}  // namespace ringcraft
