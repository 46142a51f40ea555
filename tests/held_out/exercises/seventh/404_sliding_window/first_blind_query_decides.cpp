// Mistake: sees returns false at the first query whose next key lies past its interval, instead of going on to the next query: if the first queries of a shard see nothing of the block and later ones do (under a causal mask or a window, in a zig-zag), the rank counts as one that sees nothing.
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
  MaskCursor visible(mask, seqlen);
  std::size_t next = 0;
  for (const Position query : queries) {
    const KeyInterval seen = visible.at(query);
    while (next < keys.size() && keys[next] < seen.lo) ++next;
    if (next == keys.size()) return false;
    return keys[next] < seen.hi;
  }
  return false;
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<std::vector<Position>> positions;
  positions.reserve(static_cast<std::size_t>(n));
  for (int rank = 0; rank < n; ++rank) positions.push_back(problem.sharding().positions(rank));
  const auto needs = [&](int rank, int block) {
    return sees(problem.mask, problem.shape.seqlen, positions[static_cast<std::size_t>(rank)],
                positions[static_cast<std::size_t>(block)]);
  };
  std::vector<int> reach;
  for (int block = 0; block < n; ++block) {
    int t = n - 1;
    for (; t > 0; --t)
      if (needs((block + t) % n, block)) break;
    reach.push_back(t);
  }
  return reach;
}

}  // namespace ringcraft
