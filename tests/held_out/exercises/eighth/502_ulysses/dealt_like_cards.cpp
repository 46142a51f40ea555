// Mistake: Two mistakes. (1) Heads are dealt like cards: member m begins at head m, with its count of heads, and its KV heads begin at KV head m / group. (2) Rows are taken to stand in turn, row a of member m at a * degree + m, which is so for a striped layout of equal shards among all ranks.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  DealtHeads d;
  d.query = {static_cast<Index>(member), shape.heads / degree};
  d.kv = {d.query.first / shape.group(), std::max<Index>(1, shape.kv_heads / degree)};
  return d;
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  std::vector<Index> rows(static_cast<std::size_t>(sharding.rows(rank)));
  const Index member = rank % degree;
  Index next = member;
  for (Index& row : rows) {
    row = next;
    next += degree;
  }
  return rows;
}

}  // namespace ringcraft
