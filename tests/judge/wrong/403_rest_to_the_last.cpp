// The last chunk takes all that is left over.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = seqlen / chunks;
  return {index * rows, index == chunks - 1 ? seqlen : (index + 1) * rows};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
