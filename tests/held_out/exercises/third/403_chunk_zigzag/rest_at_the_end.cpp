// Mistake: nth_chunk gives the tokens left over by the division one each to the last (seqlen mod chunks) chunks instead of to the first ones; zigzag_chunks, which calls it, inherits the cut. Lengths that the chunks divide are right.
// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position base = seqlen / chunks, rest = seqlen % chunks;
  Chunk chunk;
  const Position before = std::max<Position>(0, index - (chunks - rest));  // longer chunks in front of it
  const bool longer = index >= chunks - rest;
  chunk.begin = index * base + before;
  chunk.end = chunk.begin + base + (longer ? 1 : 0);
  return chunk;
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int last = 2 * world_size - 1;
  ChunkPair pair;
  pair.early = nth_chunk(seqlen, last + 1, rank);
  pair.late = nth_chunk(seqlen, last + 1, last - rank);
  return pair;
}

}  // namespace ringcraft
