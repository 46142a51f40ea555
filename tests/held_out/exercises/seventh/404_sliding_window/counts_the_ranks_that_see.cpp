// Mistake: reaches gives the number of other ranks that see a key of the block instead of the largest distance of one that does. The same where the ranks that see a block follow it without a gap (contiguous windows), too small where ranks on the way see nothing.
// Lesson 404: the reach of every KV block under any mask and layout. With a window most blocks are needed a
// rank or two further on, and under a causal mask the last rank's block is needed nowhere else. Every ring
// asks it (through hops, see shared_reach.cpp) how far to go.
#include "ringcraft/problem/reach.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// Whether one of the queries sees one of the keys, both increasing positions.
bool sees(const Mask& mask, Position seqlen, const std::vector<Position>& queries,
          const std::vector<Position>& keys) {
  MaskCursor cursor(mask, seqlen);
  auto key = keys.begin();
  return std::any_of(queries.begin(), queries.end(), [&](Position query) {
    const KeyInterval visible = cursor.at(query);
    while (key != keys.end() && *key < visible.lo) ++key;
    return key != keys.end() && *key < visible.hi;
  });
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<std::vector<Position>> shards(static_cast<std::size_t>(n));
  for (int rank = 0; rank < n; ++rank) shards[static_cast<std::size_t>(rank)] = problem.sharding().positions(rank);

  std::vector<int> hops(shards.size(), 0);
  for (std::size_t block = 0; block < shards.size(); ++block)
    for (std::size_t rank = 0; rank < shards.size(); ++rank)
      if (rank != block && sees(problem.mask, problem.shape.seqlen, shards[rank], shards[block])) ++hops[block];
  return hops;
}

}  // namespace ringcraft
