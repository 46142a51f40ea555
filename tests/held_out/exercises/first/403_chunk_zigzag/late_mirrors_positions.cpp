// Mistake: The late chunk is the early one mirrored at the middle of the sequence, with its length, instead of chunk 2N - 1 - rank, which may be one token shorter.
// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position length = seqlen / chunks, longer = seqlen % chunks;
  const Position begin = length * index + std::min<Position>(index, longer);
  const Position end = begin + length + (index < longer ? 1 : 0);
  return {begin, end};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const Chunk early = nth_chunk(seqlen, 2 * world_size, rank);
  const Chunk late{seqlen - early.end, seqlen - early.begin};
  return {early, late};
}

}  // namespace ringcraft
