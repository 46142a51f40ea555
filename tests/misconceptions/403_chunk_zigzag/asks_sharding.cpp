// LY1: asks the library, which asks this very function.
// Fails: first-with-last "crashed (segmentation fault) in call 1 of zigzag_chunks"
// Hint: Whom does that function ask, and whom does the one it asks ask?
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
  const auto positions = Sharding{Layout::kZigzag, seqlen, world_size}.positions(rank);
  const Chunk early = nth_chunk(seqlen, 2 * world_size, rank);
  const auto rows = static_cast<Position>(positions.size());
  return {early, {positions.back() + 1 - (rows - early.rows()), positions.back() + 1}};
}

}  // namespace ringcraft
