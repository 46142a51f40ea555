// Mistake: Two mistakes. (1) The neighbours of a rank begin at rank / degree, the number of its row, and not at its first rank. (2) A member gets the KV heads from member times their number on, also where they are copied, so the later members get heads that there are not.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  const Index q = shape.heads / degree;
  const Index k = std::max<Index>(1, shape.kv_heads / degree);
  return {{member * q, q}, {member * k, k}};
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  const std::vector<Position> own = sharding.positions(rank);
  std::vector<Index> rows;
  for (Index a = 0; a < static_cast<Index>(own.size()); ++a) rows.push_back(a);
  const int first = rank / degree;
  for (int m = first; m < first + degree; ++m) {
    if (m == rank) continue;
    const std::vector<Position> theirs = sharding.positions(m);
    std::size_t before = 0;
    for (std::size_t a = 0; a < own.size(); ++a) {
      while (before < theirs.size() && theirs[before] < own[a]) ++before;
      rows[a] += static_cast<Index>(before);
    }
  }
  return rows;
}

}  // namespace ringcraft
