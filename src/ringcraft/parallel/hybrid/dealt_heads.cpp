// Lesson 502: which heads go where, and which row becomes which.
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  // BEGIN SOLUTION 502 [dealt_heads]
  const Index queries = shape.heads / degree, first = member * queries;
  const Index keys = std::max<Index>(1, shape.kv_heads / degree);
  return {{first, queries}, {first / shape.group(), keys}};
  // END SOLUTION [dealt_heads]
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  // BEGIN SOLUTION 502 [joined_rows]
  const std::vector<Position> own = sharding.positions(rank);
  std::vector<Index> rows(own.size());  // first the own rows before each, which is its number
  for (std::size_t a = 0; a < own.size(); ++a) rows[a] = static_cast<Index>(a);
  const int first = rank / degree * degree;
  for (int member = first; member < first + degree; ++member) {
    if (member == rank) continue;
    const std::vector<Position> theirs = sharding.positions(member);
    std::size_t before = 0;  // of their rows
    for (std::size_t a = 0; a < own.size(); ++a) {
      while (before < theirs.size() && theirs[before] < own[a]) ++before;
      rows[a] += static_cast<Index>(before);
    }
  }
  return rows;
  // END SOLUTION [joined_rows]
}

}  // namespace ringcraft
