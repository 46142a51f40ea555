// Mistake: The number of a row is taken to be its position minus the smallest one of the neighbours, as if these held all tokens between. That is so where ranks that stand side by side hold neighbouring tokens, or where all ranks are neighbours.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>
#include <limits>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  const Index heads_each = shape.heads / degree;
  const Index kv_each = std::max(shape.kv_heads / degree, Index{1});
  const Index first = heads_each * member;
  return {{first, heads_each}, {first / shape.group(), kv_each}};
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  const int leader = rank - rank % degree;
  Position start = std::numeric_limits<Position>::max();
  for (int i = 0; i < degree; ++i) {
    const auto p = sharding.positions(leader + i);
    if (!p.empty()) start = std::min(start, p.front());
  }
  std::vector<Index> rows;
  for (const Position p : sharding.positions(rank)) rows.push_back(static_cast<Index>(p - start));
  return rows;
}

}  // namespace ringcraft
