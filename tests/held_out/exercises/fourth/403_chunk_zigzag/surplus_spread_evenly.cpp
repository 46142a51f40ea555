// Mistake: nth_chunk lets chunk g begin at floor(g * seqlen / chunks), which spreads the chunks that are one token longer evenly over the sequence, instead of making the first (seqlen mod chunks) chunks the longer ones; wrong wherever chunks does not divide seqlen, for contiguous and zig-zag shards.
// Lesson 403: layouts that deal chunks to ranks (see deal.hpp). Sharding asks these two functions who owns
// what, so every contiguous and every zig-zag ring runs on them.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {
namespace {

// Where chunk number g begins; chunk number `chunks` would begin at the end.
Position first_of(Position seqlen, int chunks, Position g) {
  const Position whole = seqlen / chunks, rest = seqlen % chunks;
  return whole * g + rest * g / chunks;
}

}  // namespace

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  Chunk chunk;
  chunk.begin = first_of(seqlen, chunks, index);
  chunk.end = first_of(seqlen, chunks, index + 1);
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
