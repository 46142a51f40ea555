// LY18: the last chunk takes all that is left over.
// Fails: everyone-once "4 tokens on 3 ranks: shards of 0 and of 4 tokens"
// Hint: Four tokens on three ranks: how many does each get?
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
