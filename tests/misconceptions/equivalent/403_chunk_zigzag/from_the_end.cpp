// Equivalent: counts from the end: the chunks behind chunk g are the shorter ones first.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = seqlen / chunks, shorter = chunks - seqlen % chunks;
  const auto end = [&](Index behind) {
    return seqlen - behind * rows - std::max<Position>(0, behind - shorter);
  };
  return {end(chunks - index), end(chunks - index - 1)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const Chunk early = nth_chunk(seqlen, 2 * world_size, rank);
  return {early, nth_chunk(seqlen, 2 * world_size, 2 * world_size - rank - 1)};
}

}  // namespace ringcraft
