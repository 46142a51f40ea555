// Mistake: Two mistakes, in a mask of its own instead of MaskCursor. (1) A window of W shows W keys, the query counted (from q - W + 1 on), instead of W + 1. (2) Borders of packed sequences are ignored: a query sees keys of other sequences.
// Lesson 404: the reach of every KV block under any mask and layout. With a window most blocks are needed a
// rank or two further on, and under a causal mask the last rank's block is needed nowhere else. Every ring
// asks it (through hops, see shared_reach.cpp) how far to go.
#include "ringcraft/problem/reach.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

KeyInterval visible_to(const Mask& mask, Position seqlen, Position query) {
  KeyInterval interval{0, seqlen};
  if (mask.left <= query) interval.lo = query - mask.left + 1;
  if (mask.right < seqlen - query) interval.hi = query + mask.right + 1;
  return interval;
}

bool sees(const Mask& mask, Position seqlen, const std::vector<Position>& queries,
          const std::vector<Position>& keys) {
  std::size_t k = 0;
  for (const Position q : queries) {
    const auto [lo, hi] = visible_to(mask, seqlen, q);
    while (k < keys.size() && keys[k] < lo) ++k;
    if (k < keys.size() && keys[k] < hi) return true;
  }
  return false;
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<std::vector<Position>> owned;
  for (int r = 0; r < n; ++r) owned.push_back(problem.sharding().positions(r));
  std::vector<int> reach(owned.size(), 0);
  for (int s = 0; s < n; ++s)
    for (int r = 0; r < n; ++r) {
      const int distance = (r - s + n) % n;
      int& farthest = reach[static_cast<std::size_t>(s)];
      if (distance > farthest && sees(problem.mask, problem.shape.seqlen, owned[static_cast<std::size_t>(r)],
                                      owned[static_cast<std::size_t>(s)]))
        farthest = distance;
    }
  return reach;
}

}  // namespace ringcraft
