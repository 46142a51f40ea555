// Mistake: The chunks that are one token longer are the last ones instead of the first ones.
// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position whole = seqlen / chunks, rest = seqlen % chunks;
  const auto begin = [&](Position g) { return g * whole + std::max<Position>(0, g - (chunks - rest)); };
  return {begin(index), begin(Position{index} + 1)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
