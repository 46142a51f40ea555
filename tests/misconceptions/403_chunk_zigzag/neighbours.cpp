// LY6: a rank gets two neighbouring chunks: contiguous.
// Fails: first-with-last "rank 0, late chunk is [2, 4), and must be [14, 16)"
// Hint: Which neighbours does a token have, and with whom do they live?
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
  return {nth_chunk(seqlen, chunks, 2 * rank), nth_chunk(seqlen, chunks, 2 * rank + 1)};
}

}  // namespace ringcraft
