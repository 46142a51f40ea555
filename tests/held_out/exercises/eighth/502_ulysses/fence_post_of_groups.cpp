// Mistake: The KV heads of a member run from that of its first query head to that of the query head after its last one, both counted: one KV head too many wherever a run ends at the border of a group. The rows are right.
// Lesson 502: which heads go where, and which row becomes which.
#include <algorithm>

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

DealtHeads dealt_heads(const Shape& shape, int degree, int member) {
  const Index per = shape.heads / degree;
  const Index begin = member * per, end = begin + per;
  const Index kv_begin = begin / shape.group();
  const Index kv_end = end / shape.group();
  return {{begin, per}, {kv_begin, kv_end - kv_begin + 1}};
}

std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank) {
  std::vector<std::pair<Position, int>> all;
  const int first = rank - rank % degree;
  for (int r = first; r < first + degree; ++r) {
    const auto middle = static_cast<std::ptrdiff_t>(all.size());
    for (const Position p : sharding.positions(r)) all.emplace_back(p, r);
    std::inplace_merge(all.begin(), all.begin() + middle, all.end());
  }
  std::vector<Index> rows;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].second == rank) rows.push_back(static_cast<Index>(i));
  return rows;
}

}  // namespace ringcraft
