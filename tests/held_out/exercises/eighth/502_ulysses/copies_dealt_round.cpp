// Mistake: With fewer KV heads than neighbours the copies are dealt round: member m gets KV head m mod kv_heads, and not the one that its query heads share. The rows are right.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  DealtHeads out;
  out.query.count = shape.heads / degree;
  out.query.first = out.query.count * member;
  if (shape.kv_heads >= degree) {
    out.kv.count = shape.kv_heads / degree;
    out.kv.first = out.kv.count * member;
  } else {
    out.kv.count = 1;
    out.kv.first = member % shape.kv_heads;
  }
  return out;
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  const std::vector<Position> own = sharding.positions(rank);
  std::vector<Index> rows(own.size());
  for (std::size_t a = 0; a < own.size(); ++a) rows[a] = static_cast<Index>(a);
  for (int m = 0; m < degree; ++m) {
    const int neighbour = rank / degree * degree + m;
    if (neighbour == rank) continue;
    const std::vector<Position> theirs = sharding.positions(neighbour);
    auto at = theirs.begin();
    for (std::size_t a = 0; a < own.size(); ++a) {
      while (at != theirs.end() && *at < own[a]) ++at;
      rows[a] += static_cast<Index>(at - theirs.begin());
    }
  }
  return rows;
}

}  // namespace ringcraft
