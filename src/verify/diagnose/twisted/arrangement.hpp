#pragma once
/// @file
/// An arrangement: in which blocks, and in which order, an implementation may have met the keys: a ring of N
/// ranks in some layout, or one device that goes through tiles. A claim does not say which it was; a
/// diagnosis tries several.

#include <string>
#include <vector>

#include "ringcraft/problem/problem.hpp"

namespace ringcraft::verify {

/// Blocks of positions. In a ring block r is the shard of rank r, and rank r meets the blocks r, r-1, r-2,
/// ... in that order; on one device every row meets the blocks 0, 1, 2, ...
struct Arrangement {
  std::string words;                          ///< "a contiguous ring of 3 ranks"
  bool ring = true;                           ///< whether blocks walk around ranks
  int hops = 0;                               ///< how often a ring exchanges
  std::vector<std::vector<Position>> blocks;  ///< positions of each block, increasing
  std::vector<int> owner;                     ///< the block of each position
  std::vector<Index> local;                   ///< the row of each position in its block
  std::vector<Position> order;                ///< all positions, block after block
  std::vector<Position> offset;               ///< where each block begins in that order

  /// Number of blocks.
  int count() const { return static_cast<int>(blocks.size()); }
  /// Positions of all blocks.
  Position seqlen() const { return static_cast<Position>(owner.size()); }
  /// A block number brought into 0 to count() - 1.
  int wrapped(int block) const { return (block % count() + count()) % count(); }
  /// The row of a block, or -1 if it has no such row.
  Position at(int block, Index row) const;
};

/// The ring that the problem's layout and number of ranks describe.
Arrangement ring_arrangement(const Problem& problem);
/// One device with tiles of so many keys.
Arrangement tiled_arrangement(Position seqlen, Position tile);

}  // namespace ringcraft::verify
