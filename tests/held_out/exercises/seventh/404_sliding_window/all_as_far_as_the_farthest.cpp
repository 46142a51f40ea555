// Mistake: Every block gets the largest reach of all blocks (the number of hops of the ring) instead of its own.
// Lesson 404: the reach of every KV block under any mask and layout. With a window most blocks are needed a
// rank or two further on, and under a causal mask the last rank's block is needed nowhere else. Every ring
// asks it (through hops, see shared_reach.cpp) how far to go.
#include "ringcraft/problem/reach.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

bool sees(const Mask& mask, Position seqlen, const std::vector<Position>& queries,
          const std::vector<Position>& keys) {
  const KeyRanges ranges = ranges_of(mask, seqlen, queries, keys);
  return !std::equal(ranges.begin.begin(), ranges.begin.end(), ranges.end.begin());
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<std::vector<Position>> positions;
  for (int rank = 0; rank < n; ++rank) positions.push_back(problem.sharding().positions(rank));
  int hops = 0;
  for (int source = 0; source < n; ++source) {
    int t = n - 1;
    while (t > hops && !sees(problem.mask, problem.shape.seqlen, positions[static_cast<std::size_t>((source + t) % n)],
                             positions[static_cast<std::size_t>(source)]))
      --t;
    hops = std::max(hops, t);
  }
  return std::vector<int>(static_cast<std::size_t>(n), hops);
}

}  // namespace ringcraft
