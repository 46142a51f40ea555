#pragma once
/// @file
/// How each layout deals its tokens: the maps that Sharding is made of. Two layouts deal single tokens, in
/// rounds of one for each rank; two deal chunks, runs of neighbours.

#include <tuple>

#include "ringcraft/problem/layout.hpp"

namespace ringcraft {

/// The position of local row `row` of `rank` in a layout that deals single tokens (kStriped, kZigzagToken):
/// the token that the rank gets in round `row`, counted from 0. The deal itself knows no end: a result of
/// seqlen or more says that the rank has no such row.
Position token_position(Layout layout, int world_size, int rank, Index row);

/// The rank that gets the token at this position in such a layout.
int token_owner(Layout layout, int world_size, Position position);

/// Neighbouring positions, [begin, end). It may hold none.
struct Chunk {
  Position begin = 0;  ///< the first position
  Position end = 0;    ///< one past the last

  /// Number of positions.
  Index rows() const { return end - begin; }
  /// Whether the position is one of them.
  bool holds(Position position) const { return begin <= position && position < end; }

  static auto fields(auto& self) { return std::tie(self.begin, self.end); }
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Chunk `index` of a sequence that is cut into `chunks` chunks, in their order, as numpy.array_split cuts:
/// the first (seqlen mod chunks) are one token longer than the others. With fewer tokens than chunks the last
/// ones are empty.
Chunk nth_chunk(Position seqlen, int chunks, int index);

/// A rank's tokens under Layout::kZigzag: its local rows are the early chunk, then the late one.
struct ChunkPair {
  Chunk early;  ///< from the first half of the 2N chunks
  Chunk late;   ///< from the second half

  static auto fields(auto& self) { return std::tie(self.early, self.late); }
  friend bool operator==(const ChunkPair&, const ChunkPair&) = default;
};

/// The two chunks of `rank` when 2N chunks are dealt to N ranks, the first and the last to rank 0, the second
/// and the one before the last to rank 1, and so on.
ChunkPair zigzag_chunks(Position seqlen, int world_size, int rank);

}  // namespace ringcraft
