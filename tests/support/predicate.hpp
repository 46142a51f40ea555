#pragma once
/// @file
/// The mask one pair at a time, and everything that follows from it by counting: the tests' own answer,
/// written without intervals or key ranges.

#include <algorithm>
#include <vector>

#include "ringcraft/problem/layout.hpp"
#include "ringcraft/problem/mask.hpp"

namespace ringcraft::testing {

/// Which packed sequence a position belongs to.
inline int sequence_of(const Mask& mask, Position p) {
  int sequence = 0;
  for (const Position border : mask.cu_seqlens) sequence += border <= p ? 1 : 0;
  return sequence;
}

/// Whether the query at position `query` sees the key at position `key`.
inline bool sees(const Mask& mask, Position query, Position key) {
  if (sequence_of(mask, query) != sequence_of(mask, key)) return false;
  return key <= query ? query - key <= mask.left : key - query <= mask.right;
}

/// sees() for every local pair of two lists of positions: [query][key].
inline std::vector<std::vector<bool>> visibility(const Mask& mask, const std::vector<Position>& queries,
                                                 const std::vector<Position>& keys) {
  std::vector<std::vector<bool>> visible;
  for (const Position q : queries) {
    visible.emplace_back();
    for (const Position k : keys) visible.back().push_back(sees(mask, q, k));
  }
  return visible;
}

/// The number of true entries.
inline Index count(const std::vector<std::vector<bool>>& visible) {
  Index sum = 0;
  for (const auto& row : visible) sum += std::count(row.begin(), row.end(), true);
  return sum;
}

/// Visible pairs of every turn of a whole ring, [step][rank], all N steps.
inline std::vector<std::vector<Index>> counted_pairs(const Mask& mask, const Sharding& sharding) {
  const int n = sharding.world_size;
  std::vector<std::vector<Index>> pairs(static_cast<std::size_t>(n));
  for (int t = 0; t < n; ++t)
    for (int rank = 0; rank < n; ++rank)
      pairs[static_cast<std::size_t>(t)].push_back(
          count(visibility(mask, sharding.positions(rank), sharding.positions((rank - t + n) % n))));
  return pairs;
}

/// The last step at which some rank sees something.
inline int counted_hops(const std::vector<std::vector<Index>>& pairs) {
  int hops = 0;
  for (std::size_t t = 0; t < pairs.size(); ++t)
    if (std::any_of(pairs[t].begin(), pairs[t].end(), [](Index p) { return p > 0; }))
      hops = static_cast<int>(t);
  return hops;
}

}  // namespace ringcraft::testing
