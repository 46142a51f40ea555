// Equivalent: an empty chunk is nowhere, so it may be [0, 0) for all that anybody can tell.
#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = seqlen / chunks, longer = seqlen % chunks;
  const Position mine = rows + (index < longer ? 1 : 0);
  if (mine == 0) return {};
  const Position begin = index * rows + (index < longer ? index : longer);
  return {begin, begin + mine};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  ChunkPair pair;
  pair.early = nth_chunk(seqlen, 2 * world_size, rank);
  pair.late = nth_chunk(seqlen, 2 * world_size, 2 * world_size - 1 - rank);
  return pair;
}

}  // namespace ringcraft
