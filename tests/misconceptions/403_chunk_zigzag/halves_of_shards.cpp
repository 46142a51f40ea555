// LY14: cuts into N shards, and these into halves: other borders than those of 2N chunks.
// Fails: uneven-pairs "18 tokens on 2 ranks: rank 1, early chunk is [5, 9), and must be [5, 10)"
// Hint: Cut 18 into four parts, and cut it into two and these into two: the same borders?
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
  const auto half = [&](int g) {
    const Chunk shard = nth_chunk(seqlen, world_size, g / 2);
    const Chunk part = nth_chunk(shard.rows(), 2, g % 2);
    return Chunk{shard.begin + part.begin, shard.begin + part.end};
  };
  return {half(rank), half(2 * world_size - 1 - rank)};
}

}  // namespace ringcraft
