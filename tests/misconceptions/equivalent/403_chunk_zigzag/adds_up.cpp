// Equivalent: adds up the lengths of all chunks before.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {
namespace {

Position rows_of(Position seqlen, int chunks, int g) {
  return seqlen / chunks + (g < seqlen % chunks ? 1 : 0);
}

}  // namespace

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  Position begin = 0;
  for (int g = 0; g < index; ++g) begin += rows_of(seqlen, chunks, g);
  return {begin, begin + rows_of(seqlen, chunks, index)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
