#pragma once
/// @file
/// KeyRanges: the keys of a shard that a shard of queries sees, as two integers per row. It is the only form
/// in which a mask reaches a kernel: causal, window, packed sequences and all four layouts look the same, no
/// score is ever set to minus infinity, and no kernel knows where its rows stand in the sequence.

#include <span>
#include <tuple>
#include <vector>

#include "ringcraft/problem/mask.hpp"

namespace ringcraft {

/// How much of a tile of rows and keys is visible.
enum class Tile : std::uint8_t {
  kEmpty,    ///< no visible pair: skip it
  kPartial,  ///< some pairs: row a takes the keys [begin[a], end[a])
  kFull,     ///< every pair
};

/// Query row a sees exactly the local keys begin[a] <= b < end[a]. Both lists never decrease.
struct KeyRanges {
  std::vector<int> begin;  ///< per row: the first key that it sees
  std::vector<int> end;    ///< per row: one past the last key that it sees

  /// Number of query rows.
  int rows() const { return static_cast<int>(begin.size()); }
  /// Number of visible (query, key) pairs: the work of this block.
  Index pairs() const;
  /// Classifies the tile of rows [row0, row1) and keys [key0, key1), neither of them empty. A tile with a
  /// visible pair is always classified rightly; a few empty ones are called partial, which only
  /// costs time.
  Tile tile(int row0, int row1, int key0, int key1) const;
  /// Number of tiles of tile_rows x tile_keys that are not empty, those at the borders smaller: the work of a
  /// kernel that computes whole tiles. `keys` is the number of keys of the block.
  Index tiles(int keys, int tile_rows, int tile_keys) const;
  /// The ranges of the query rows [first, first + count) alone.
  KeyRanges slice(Index first, Index count) const;
  /// The same relation from the key's side: key b is seen by exactly the rows [begin[b], end[b]) of the
  /// result. `keys` is the number of keys of the block.
  KeyRanges transposed(int keys) const;
  static auto fields(auto& self) { return std::tie(self.begin, self.end); }
};

/// The ranges of a query shard against a key shard, in O(rows + keys). Both position lists increase; seqlen
/// is the length of the whole sequence. (Lesson 405.)
KeyRanges ranges_of(const Mask& mask, Position seqlen, std::span<const Position> queries,
                    std::span<const Position> keys);

/// The ranges of one device that holds all tokens: rows and keys are the positions 0 to seqlen - 1.
KeyRanges key_ranges(const Mask& mask, Position seqlen);

}  // namespace ringcraft
