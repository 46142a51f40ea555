// LY13: the late chunk is as long as the early one.
// Fails: uneven-pairs "11 tokens on 2 ranks: rank 0, late chunk is [9, 12), and must be [9, 11)"
// Hint: If the length does not divide, have all chunks the same length?
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
  const Chunk early = nth_chunk(seqlen, chunks, rank);
  const Position begin = nth_chunk(seqlen, chunks, chunks - 1 - rank).begin;
  return {early, {begin, begin + early.rows()}};
}

}  // namespace ringcraft
