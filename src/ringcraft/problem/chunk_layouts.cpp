// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  // BEGIN SOLUTION 403 [nth_chunk]
  const Position rows = seqlen / chunks, longer = seqlen % chunks;  // so many chunks have one row more
  const auto begin = [&](Index g) { return g * rows + std::min(g, longer); };
  return {begin(index), begin(index + 1)};
  // END SOLUTION [nth_chunk]
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  // BEGIN SOLUTION 403 [zigzag_chunks]
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
  // END SOLUTION [zigzag_chunks]
}

}  // namespace ringcraft
