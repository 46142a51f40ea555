// IT1: positions are counted in 32 bits.
// Fails: far-away "and must be [107374182401, 128849018881)"
// Hint: What is the largest number in 32 bits, and how many tokens or pairs are there?
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

Chunk nth_chunk(Position seqlen, int chunks, int index) {
  const int rows = static_cast<int>(seqlen / chunks), longer = static_cast<int>(seqlen % chunks);
  const auto begin = [&](int g) { return g * rows + std::min(g, longer); };
  return {begin(index), begin(index + 1)};
}

ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank) {
  const int chunks = 2 * world_size;
  return {nth_chunk(seqlen, chunks, rank), nth_chunk(seqlen, chunks, chunks - 1 - rank)};
}

}  // namespace ringcraft
