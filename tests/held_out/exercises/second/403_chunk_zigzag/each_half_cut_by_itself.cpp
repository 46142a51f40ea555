// Mistake: the sequence is halved first and each half is cut into N chunks of its own, instead of cutting the whole sequence into 2N chunks.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = seqlen / chunks, longer = seqlen % chunks;
  const auto begin = [&](Index g) { return g * rows + std::min(g, longer); };
  return {begin(index), begin(index + 1)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const Position middle = (seqlen + 1) / 2;
  const Chunk early = nth_chunk(middle, world_size, rank);
  Chunk late = nth_chunk(seqlen - middle, world_size, world_size - 1 - rank);
  late.begin += middle;
  late.end += middle;
  return {early, late};
}

}  // namespace ringcraft
