// Mistake: A block is followed from its rank up to rank N - 1 only, not on from rank 0: ranks before the owner, which it meets after going around the end of the ring, are never asked.
// Lesson 404: the reach of every KV block under any mask and layout. With a window most blocks are needed a
// rank or two further on, and under a causal mask the last rank's block is needed nowhere else. Every ring
// asks it (through hops, see shared_reach.cpp) how far to go.
#include "ringcraft/problem/reach.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

bool sees(const Mask& mask, Position seqlen, const std::vector<Position>& queries,
          const std::vector<Position>& keys) {
  MaskCursor cursor(mask, seqlen);
  for (std::size_t i = 0, k = 0; i < queries.size(); ++i) {
    const auto [lo, hi] = cursor.at(queries[i]);
    for (; k < keys.size() && keys[k] < lo; ++k) continue;
    if (k == keys.size()) break;
    if (keys[k] < hi) return true;
  }
  return false;
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  std::vector<std::vector<Position>> positions;
  for (int r = 0; r < problem.world_size; ++r) positions.push_back(problem.sharding().positions(r));
  std::vector<int> reach;
  for (std::size_t source = 0; source < positions.size(); ++source) {
    std::size_t last = positions.size() - 1;
    while (last > source && !sees(problem.mask, problem.shape.seqlen, positions[last], positions[source])) --last;
    reach.push_back(static_cast<int>(last - source));
  }
  return reach;
}

}  // namespace ringcraft
