#pragma once
/// @file
/// An arrangement: the blocks, and their order, in which an implementation may process the keys: a ring of N
/// ranks in some layout, or one device that iterates over tiles. A claim does not state its arrangement; a
/// diagnosis tries several.

#include <string>
#include <vector>

#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {

/// Blocks of keys, and the shards of query rows that meet them, by their rows in the tensors. In a ring block
/// r and shard r are those of rank r, which meets the blocks r, r-1, r-2, ... in that order; on one device
/// all rows are one shard, which meets the blocks 0, 1, 2, ...
struct Arrangement {
  std::string words;      ///< "a contiguous ring of 3 ranks"
  bool ring = true;       ///< whether blocks travel around ranks
  bool partial = false;   ///< whether the caller divides O, which it skips where l is 0
  Index row_tile = 0;     ///< rows of a tile of one device; 0: unknown
  int hops = 0;           ///< number of exchanges of a ring
  bool reversed = false;  ///< a ring's blocks are met in the opposite order: the own one last
  std::vector<std::vector<Index>> blocks;  ///< keys of each block, increasing
  std::vector<std::vector<Index>> shards;  ///< query rows of each rank, increasing
  std::vector<int> owner, row_owner;       ///< the block of each key, the shard of each row
  std::vector<Index> local, row_local;     ///< the index of each key in its block, of each row in its shard
  std::vector<Index> order;                ///< all keys, block after block
  std::vector<Index> offset;               ///< begin of each block in that order

  /// The word for one of its blocks: "block", "tile", "key" or "row".
  std::string part() const;
  /// Number of blocks.
  int count() const { return static_cast<int>(blocks.size()); }
  /// A block number modulo count().
  int wrapped(int block) const { return (block % count() + count()) % count(); }
  /// A key of a block, or -1 if it has no such key.
  Index at(int block, Index key) const;
};

/// The ring that the problem's layout and number of ranks describe.
Arrangement ring_arrangement(const Problem& problem);
/// One device that meets all keys at once.
Arrangement one_block(const BlockProblem& problem);
/// One device with tiles of so many keys, and of so many rows if that is known.
Arrangement tiled_arrangement(Index rows, Index keys, Index tile, Index row_tile = 0);
/// One device that meets its keys part by part; each key belongs to one of the parts.
Arrangement parted_arrangement(Index rows, Index keys, std::vector<std::vector<Index>> parts);

}  // namespace ringcraft::verify
