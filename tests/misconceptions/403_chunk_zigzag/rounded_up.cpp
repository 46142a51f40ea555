// LY20: all chunks but the last have the rounded-up length.
// Fails: uneven-cut "chunk 1 of 3 over 7 tokens is [3, 6), and must be [3, 5)"
// Hint: If every chunk is rounded up, how long is the last?
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = (seqlen + chunks - 1) / chunks;
  return {std::min(seqlen, index * rows), std::min(seqlen, (index + 1) * rows)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
