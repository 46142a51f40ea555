// Lesson 404: the reach of every KV block under any mask and layout. With a window most blocks are needed a
// rank or two further on, and under a causal mask the last rank's block is needed nowhere else. Every ring
// asks it (through hops, see shared_reach.cpp) how far to go.
#include "ringcraft/problem/reach.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// Whether one of the queries sees one of the keys, both increasing positions.
[[maybe_unused]] bool sees(const Mask& mask, Position seqlen, const std::vector<Position>& queries,
                           const std::vector<Position>& keys) {
  // BEGIN SOLUTION 404 [sees]
  MaskCursor cursor(mask, seqlen);
  auto key = keys.begin();  // the first one that this query, or a later one, may see
  for (const Position query : queries) {
    const KeyInterval seen = cursor.at(query);
    while (key != keys.end() && *key < seen.lo) ++key;
    if (key == keys.end()) return false;
    if (*key < seen.hi) return true;
  }
  return false;
  // END SOLUTION [sees]
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  // BEGIN SOLUTION 404 [reaches]
  const int n = problem.world_size;
  const Sharding sharding = problem.sharding();
  std::vector<std::vector<Position>> positions;  // [rank][local row]
  for (int rank = 0; rank < n; ++rank) positions.push_back(sharding.positions(rank));
  std::vector<int> reach;
  for (int source = 0; source < n; ++source) {
    const auto needed = [&](int t) {  // by the rank that is t ranks further on
      return sees(problem.mask, problem.shape.seqlen, positions[(source + t) % n], positions[source]);
    };
    int t = n - 1;
    while (t > 0 && !needed(t)) --t;
    reach.push_back(t);
  }
  return reach;
  // END SOLUTION [reaches]
}

}  // namespace ringcraft
