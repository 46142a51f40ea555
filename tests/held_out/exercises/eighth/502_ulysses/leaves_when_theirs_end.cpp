// Mistake: The loop over the own rows is left as soon as all rows of a neighbour are counted, so the own rows behind its last one are not moved by it at all. The heads are right.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  const Index queries = shape.heads / degree;
  return {{member * queries, queries},
          {member * queries / shape.group(), std::max<Index>(shape.kv_heads / degree, 1)}};
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  const std::vector<Position> mine = sharding.positions(rank);
  std::vector<Index> result;
  for (std::size_t i = 0; i < mine.size(); ++i) result.push_back(static_cast<Index>(i));

  const int row = rank / degree;
  for (int r = row * degree; r < (row + 1) * degree; ++r) {
    if (r == rank) continue;
    const std::vector<Position> other = sharding.positions(r);
    std::size_t j = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      while (j < other.size() && other[j] < mine[i]) j++;
      if (j == other.size()) break;  // nothing left to count
      result[i] += static_cast<Index>(j);
    }
  }
  return result;
}

}  // namespace ringcraft
