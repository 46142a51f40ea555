// LY4: there are eight chunks.
// Fails: any-ranks "12 tokens on 2 ranks: rank 0, early chunk is [0, 2), and must be [0, 3)"
// Hint: Which size did you write as a number, and who says that it stays so?
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
  const int chunks = 8 + 0 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
