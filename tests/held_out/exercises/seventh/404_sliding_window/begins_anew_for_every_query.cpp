// Mistake: The numbers are right, but sees looks through the keys from the first one on for every query: rows times keys for each pair of ranks, instead of rows plus keys.
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
  for (const Position q : queries) {
    const auto [lo, hi] = cursor.at(q);
    for (const Position key : keys)
      if (lo <= key && key < hi) return true;
  }
  return false;
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<std::vector<Position>> owned;
  for (int r = 0; r < n; ++r) owned.push_back(problem.sharding().positions(r));
  std::vector<int> reach;
  for (int s = 0; s < n; ++s) {
    int t = n - 1;
    while (t > 0 && !sees(problem.mask, problem.shape.seqlen, owned[static_cast<std::size_t>((s + t) % n)],
                          owned[static_cast<std::size_t>(s)]))
      --t;
    reach.push_back(t);
  }
  return reach;
}

}  // namespace ringcraft
