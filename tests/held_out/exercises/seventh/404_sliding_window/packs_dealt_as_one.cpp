// Mistake: The sharding is built by hand from layout, length and number of ranks, without the borders: where a problem deals each packed sequence by itself (per_sequence), the positions are those of the whole row dealt as one. The mask keeps its borders; all other problems are right.
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
  std::size_t j = 0;
  for (std::size_t i = 0; i < queries.size() && j < keys.size(); ++i) {
    const KeyInterval in = cursor.at(queries[i]);
    while (j < keys.size() && keys[j] < in.lo) ++j;
    if (j < keys.size() && keys[j] < in.hi) return true;
  }
  return false;
}

int reach_of(int source, int distance, const Problem& problem, const std::vector<std::vector<Position>>& owned) {
  if (distance == 0) return 0;
  const auto asks = static_cast<std::size_t>((source + distance) % problem.world_size);
  if (sees(problem.mask, problem.shape.seqlen, owned[asks], owned[static_cast<std::size_t>(source)])) return distance;
  return reach_of(source, distance - 1, problem, owned);
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const Sharding sharding{problem.layout, problem.shape.seqlen, problem.world_size};
  std::vector<std::vector<Position>> owned;
  for (int rank = 0; rank < problem.world_size; ++rank) owned.push_back(sharding.positions(rank));
  std::vector<int> result;
  for (int source = 0; source < problem.world_size; ++source)
    result.push_back(reach_of(source, problem.world_size - 1, problem, owned));
  return result;
}

}  // namespace ringcraft
