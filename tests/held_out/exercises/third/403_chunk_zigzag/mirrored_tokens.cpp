// Mistake: (1) the late chunk is the mirror image of the early one, [seqlen - early.end, seqlen - early.begin), instead of chunk 2N - 1 - rank with its own length, so late chunks overlap or come too long where 2N does not divide the length. (2) nth_chunk keeps the whole part seqlen / chunks in 32 bits, so chunks of 2^31 and more tokens get wrong borders.
// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const auto whole = static_cast<int>(seqlen / chunks), rest = static_cast<int>(seqlen % chunks);
  Position begin = Position{index} * whole, length = whole;
  if (index < rest) {
    begin += index;
    ++length;
  } else {
    begin += rest;
  }
  return {begin, begin + length};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const Chunk early = nth_chunk(seqlen, 2 * world_size, rank);
  return {early, {seqlen - early.end, seqlen - early.begin}};
}

}  // namespace ringcraft
