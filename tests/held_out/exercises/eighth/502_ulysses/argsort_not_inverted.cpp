// Mistake: The rows of all neighbours are put one behind the other and sorted by position, and the own part of that order is returned: which row stands at these places, and not at which place the own rows stand. A permutation where its inverse is wanted; both are the same where shards are contiguous.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>
#include <numeric>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  const Index q = shape.heads / degree;
  const Index kv = shape.kv_heads % degree == 0 ? shape.kv_heads / degree : 1;
  return {{q * member, q}, {q * member * shape.kv_heads / shape.heads, kv}};
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  std::vector<Position> positions;
  std::size_t offset = 0;
  for (int other = rank / degree * degree; other < rank / degree * degree + degree; ++other) {
    if (other == rank) offset = positions.size();
    const std::vector<Position> theirs = sharding.positions(other);
    positions.insert(positions.end(), theirs.begin(), theirs.end());
  }
  std::vector<Index> order(positions.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index i) { return positions[static_cast<std::size_t>(i)]; });
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(sharding.positions(rank).size())};
}

}  // namespace ringcraft
