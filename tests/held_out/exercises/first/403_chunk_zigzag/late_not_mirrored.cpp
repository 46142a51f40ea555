// Mistake: The late chunk of a rank has the number N + rank instead of its mirror image 2N - 1 - rank.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position size = seqlen / chunks;
  const Position longer = seqlen - size * chunks;
  Chunk chunk;
  for (int i = 0; i <= index; i++) {
    chunk.begin = chunk.end;
    chunk.end = chunk.begin + size + (i < longer ? 1 : 0);
  }
  return chunk;
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  ChunkPair pair;
  pair.early = nth_chunk(seqlen, world_size * 2, rank);
  pair.late = nth_chunk(seqlen, world_size * 2, world_size + rank);
  return pair;
}

}  // namespace ringcraft
