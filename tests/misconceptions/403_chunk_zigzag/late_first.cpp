// LY16: the late chunk is called the early one.
// Fails: first-with-last "rank 0, early chunk is [14, 16), and must be [0, 2)"
// Hint: Which of the two chunks of a rank comes first in the sequence?
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
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, chunks - 1 - rank), nth_chunk(seqlen, chunks, rank)};
}

}  // namespace ringcraft
