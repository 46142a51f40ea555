// Mistake: chunk borders are the rounded down multiples of seqlen / chunks, which spreads the longer chunks over the sequence, instead of the first seqlen mod chunks chunks being the longer ones.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = seqlen / chunks, rest = seqlen % chunks;
  const auto border = [&](Position g) { return g * rows + g * rest / chunks; };
  return {border(index), border(index + 1)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
