// Mistake: Queries and keys are exchanged: reaches asks whether the owner of the block sees a key of rank (s + t) mod N, instead of whether that rank sees a key of the block. Right for symmetrical masks only.
// Lesson 404: the reach of every KV block under any mask and layout. With a window most blocks are needed a
// rank or two further on, and under a causal mask the last rank's block is needed nowhere else. Every ring
// asks it (through hops, see shared_reach.cpp) how far to go.
#include "ringcraft/problem/reach.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// Whether one of the queries sees one of the keys, both increasing positions.
bool sees(const Mask& mask, Position seqlen, const std::vector<Position>& queries,
          const std::vector<Position>& keys) {
  MaskCursor cursor(mask, seqlen);
  auto k = keys.begin();
  for (auto q = queries.begin(); q != queries.end(); ++q) {
    const auto [lo, hi] = cursor.at(*q);
    while (k != keys.end() && *k < lo) ++k;
    if (k == keys.end()) return false;
    if (*k < hi) return true;
  }
  return false;
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<std::vector<Position>> tokens;
  for (int rank = 0; rank < n; ++rank) tokens.push_back(problem.sharding().positions(rank));

  std::vector<int> reach;
  for (int source = 0; source < n; ++source) {
    const auto& block = tokens[static_cast<std::size_t>(source)];
    int farthest = 0;
    for (int t = n - 1; t >= 1 && farthest == 0; --t) {
      const auto& rank = tokens[static_cast<std::size_t>((source + t) % n)];
      if (sees(problem.mask, problem.shape.seqlen, block, rank)) farthest = t;
    }
    reach.push_back(farthest);
  }
  return reach;
}

}  // namespace ringcraft
