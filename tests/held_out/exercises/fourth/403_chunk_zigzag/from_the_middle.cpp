// Mistake: zigzag_chunks pairs chunks from the middle outwards: rank r gets the chunks N - 1 - r and N + r instead of r and 2N - 1 - r, so rank 0 has the two middle chunks and rank N - 1 the first and the last (the pairs are right, the ranks are in reverse order). nth_chunk is right.
// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position n = chunks, g = index;
  const Position short_length = seqlen / n, long_ones = seqlen % n;
  if (g < long_ones) return {g * (short_length + 1), (g + 1) * (short_length + 1)};
  const Position begin = long_ones * (short_length + 1) + (g - long_ones) * short_length;
  return {begin, begin + short_length};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const auto chunk = [&](int index) { return nth_chunk(seqlen, 2 * world_size, index); };
  // Mirror images: the two numbers add up to 2N - 1.
  return {chunk(world_size - 1 - rank), chunk(world_size + rank)};
}

}  // namespace ringcraft
