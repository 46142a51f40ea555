// LY17: chunk g begins at the rounded share g of the length.
// Fails: uneven-cut "is [0, 2), and must be [0, 3)"
// Hint: Who gets the tokens that are left over, and is that what your rounding does?
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  return {seqlen * index / chunks, seqlen * (index + 1) / chunks};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
