// Mistake: sees looks at the shard of queries as one piece: it takes everything from the first key of the first query to the last key of the last query as seen, and asks whether the block has a key in there. Keys in the gaps between what single queries see count as seen, so a block may go further than it must.
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
  if (queries.empty() || keys.empty()) return false;
  // Neither end ever moves left, so the first query has the first key and the last query the last one.
  MaskCursor cursor(mask, seqlen);
  const Position first = cursor.at(queries.front()).lo;
  const Position past = cursor.at(queries.back()).hi;
  const auto candidate = std::lower_bound(keys.begin(), keys.end(), first);
  return candidate != keys.end() && *candidate < past;
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const Sharding sharding = problem.sharding();
  const int n = problem.world_size;
  std::vector<std::vector<Position>> of;
  for (int rank = 0; rank < n; ++rank) of.push_back(sharding.positions(rank));
  std::vector<int> result;
  for (int s = 0; s < n; ++s) {
    int reach = 0;
    for (int t = 1; t < n; ++t)
      if (sees(problem.mask, problem.shape.seqlen, of[std::size_t((s + t) % n)], of[std::size_t(s)])) reach = t;
    result.push_back(reach);
  }
  return result;
}

}  // namespace ringcraft
