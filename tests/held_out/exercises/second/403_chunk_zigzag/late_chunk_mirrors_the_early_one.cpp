// Mistake: the late chunk is the early one mirrored at the middle of the sequence, with the length of the early one, instead of chunk 2N - 1 - rank of the cut.
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
  const Chunk early = nth_chunk(seqlen, 2 * world_size, rank);
  return {early, {seqlen - early.end, seqlen - early.begin}};
}

}  // namespace ringcraft
