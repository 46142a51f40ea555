// Mistake: One index into the rows of neighbours serves all of them and is never set back to 0, so the second neighbour and those after it are counted from where the one before ended. The heads are right.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  const HeadRange query{member * (shape.heads / degree), shape.heads / degree};
  const HeadRange kv{query.first / shape.group(), (query.count + shape.group() - 1) / shape.group()};
  return {query, kv};
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  const auto own = sharding.positions(rank);
  std::vector<Index> rows(own.size());
  for (size_t i = 0; i < own.size(); i++) rows[i] = (Index)i;
  int first = (rank / degree) * degree;
  size_t k = 0;
  for (int n = first; n < first + degree; n++) {
    if (n == rank) continue;
    const auto theirs = sharding.positions(n);
    for (size_t i = 0; i < own.size(); i++) {
      while (k < theirs.size() && theirs[k] < own[i]) k++;
      rows[i] += (Index)k;
    }
  }
  return rows;
}

}  // namespace ringcraft
