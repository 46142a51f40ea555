// ZZ1: the second half of the chunks is dealt in the order of the ranks: values are right, work is not even.
// Fails: balance "pairs under a causal mask, and an equal share is 105"
// Hint: Add up the lengths of the causal rows that each rank owns.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = seqlen / chunks, longer = seqlen % chunks;
  const auto begin = [&](Index g) { return g * rows + std::min(g, longer); };
  return {begin(index), begin(index + 1)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, world_size + rank)};
}

}  // namespace ringcraft
