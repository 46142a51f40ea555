// Mistake: with fewer tokens than chunks the last chunks get the single tokens and the first ones are empty, instead of the other way round; and rank 0 is paired with chunk N and every other rank with chunk 2N - rank, instead of each with chunk 2N - 1 - rank.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = seqlen / chunks, longer = seqlen % chunks;
  if (rows == 0) {
    const Position empty = chunks - seqlen;
    return {std::max<Position>(index - empty, 0), std::max<Position>(index + 1 - empty, 0)};
  }
  if (index < longer) return {index * (rows + 1), (index + 1) * (rows + 1)};
  const Position begin = longer + index * rows;
  return {begin, begin + rows};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int partner = world_size + (world_size - rank) % world_size;
  return {nth_chunk(seqlen, 2 * world_size, rank), nth_chunk(seqlen, 2 * world_size, partner)};
}

}  // namespace ringcraft
