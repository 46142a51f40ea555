// LY12: divides by the length of a chunk, which may be 0.
// Fails: few-tokens "an integer was divided by zero) in call 1 of nth_chunk"
// Hint: How long is a chunk if there are more chunks than tokens?
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const Position rows = seqlen / chunks,
                 longer = seqlen - seqlen / rows * rows + (seqlen / rows - chunks) * rows;
  const auto begin = [&](Index g) { return g * rows + std::min(g, longer); };
  return {begin(index), begin(index + 1)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
