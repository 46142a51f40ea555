// Mistake: zigzag_chunks first cuts the sequence into two halves and then each half into N chunks, instead of cutting the whole sequence into 2N chunks, so the borders differ where 2N does not divide the length; nth_chunk is right.
// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

namespace {

Position begin_of(Position seqlen, int chunks, Index g) {
  return seqlen / chunks * g + std::min<Position>(g, seqlen % chunks);
}

}  // namespace

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Index g = index;
  return Chunk{.begin = begin_of(seqlen, chunks, g), .end = begin_of(seqlen, chunks, g + 1)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const Chunk front = nth_chunk(seqlen, 2, 0), back = nth_chunk(seqlen, 2, 1);
  const Chunk early = nth_chunk(front.rows(), world_size, rank);
  Chunk late = nth_chunk(back.rows(), world_size, world_size - 1 - rank);
  late.begin += back.begin;
  late.end += back.begin;
  return {early, late};
}

}  // namespace ringcraft
