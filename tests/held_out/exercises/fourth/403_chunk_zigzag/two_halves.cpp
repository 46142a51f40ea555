// Mistake: zigzag_chunks cuts the first floor(seqlen / 2) tokens and the remaining tokens separately into N chunks each, instead of the whole sequence into 2N chunks, so in lengths that 2N does not divide the chunk borders (and which ranks have the longer chunks) differ. nth_chunk is right.
// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position length = seqlen / chunks;
  const Position surplus = seqlen - length * chunks;
  const Position begin = length * index + std::min<Position>(index, surplus);
  return {begin, begin + length + (index < surplus ? 1 : 0)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  // The early chunks lie in the first half, the late ones, in reverse, in the second one.
  const Position middle = seqlen / 2;
  const Chunk early = nth_chunk(middle, world_size, rank);
  Chunk late = nth_chunk(seqlen - middle, world_size, world_size - 1 - rank);
  late.begin += middle;
  late.end += middle;
  return {early, late};
}

}  // namespace ringcraft
