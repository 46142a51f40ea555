// Mistake: One MaskCursor is made for the whole problem and handed on from pair to pair of ranks. It never goes back, so with packed sequences it stands in a later sequence when the queries of the next rank begin, and answers with the borders of that sequence. Without packs the answers are right.
// Lesson 404: the reach of every KV block under any mask and layout. With a window most blocks are needed a
// rank or two further on, and under a causal mask the last rank's block is needed nowhere else. Every ring
// asks it (through hops, see shared_reach.cpp) how far to go.
#include "ringcraft/problem/reach.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

bool sees(MaskCursor& cursor, const std::vector<Position>& queries, const std::vector<Position>& keys) {
  std::size_t k = 0;
  for (const Position q : queries) {
    const auto [lo, hi] = cursor.at(q);
    while (k < keys.size() && keys[k] < lo) ++k;
    if (k == keys.size()) return false;
    if (keys[k] < hi) return true;
  }
  return false;
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const auto n = static_cast<std::size_t>(problem.world_size);
  std::vector<std::vector<Position>> shard(n);
  for (std::size_t r = 0; r < n; ++r) shard[r] = problem.sharding().positions(static_cast<int>(r));

  MaskCursor cursor(problem.mask, problem.shape.seqlen);
  std::vector<int> reach(n, 0);
  for (std::size_t s = 0; s < n; ++s)
    for (std::size_t t = n - 1; t > 0; --t)
      if (sees(cursor, shard[(s + t) % n], shard[s])) {
        reach[s] = static_cast<int>(t);
        break;
      }
  return reach;
}

}  // namespace ringcraft
