#pragma once
/// @file
/// Named masks: right and wrong masks that code may apply to a block of keys.

#include <string>
#include <vector>

#include "verify/diagnose/twisted/arrangement.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {

/// A mask that code may apply to the rows of one shard and the keys of one block.
struct NamedMask {
  /// Its difference from the right mask.
  enum class Kind : std::uint8_t {
    kRight,
    kNone,            ///< every row sees every key
    kLocal,           ///< rows of the shard are compared with keys of the block
    kStrict,          ///< no row sees its own key
    kAhead,           ///< a row sees one more key
    kNotCausal,       ///< no limit to the right
    kNoWindow,        ///< no limit to the left
    kWindowShort,     ///< one key fewer to the left
    kWindowLong,      ///< one key more to the left
    kNoPacks,         ///< the borders of packed sequences are ignored
    kPacksOfRows,     ///< a key belongs to the packed sequence of the row with its index
    kPackPositions,   ///< positions within the packed sequences are compared, of any sequence
    kEarlyKeys,       ///< all rows, and the first half of the keys
    kLateKeys,        ///< all rows, and the second half of the keys
    kEarlyRows,       ///< the first half of the rows, and all keys
    kLateRows,        ///< the second half of the rows, and all keys
    kTurned,          ///< rows and keys are exchanged
    kTurnedHere,      ///< the same with indices in shard and block
    kDiagonalLost,    ///< the right one without the key at the row's own index in the block
    kFirstKeyLost,    ///< the right one without the first key
    kLastKeyLost,     ///< the right one without the last key
    kTailLost,        ///< the right one without the keys after the last whole tile of `other`
    kWindowOfTiles,   ///< the window begins with a whole tile of `other` keys
    kLabel,           ///< the block is masked as block `other`
    kRowsOf,          ///< the rows are masked as those of shard `other`
    kPacksOverRanks,  ///< borders of packs are divided by the number of ranks, and compared with local rows
    kLayout,          ///< rows and keys at the positions of layout `other`
    kKeysOfLayout,    ///< keys at the positions of layout `other`
    kEqualShards,     ///< positions as if all shards had as many rows as this one
    kOwnLengths,      ///< each shard as if those before it had as many rows as itself
    kZigzagSwapped,   ///< the cases of zig-zag exchanged: late rows for earlier ranks, early keys for later
    kHalvesApart,     ///< the right one where row and key are in the same half of shard and block
    kQuarterLost,     ///< the right one without half `other` / 2 of the rows on half `other` % 2 of the keys
    kQuarterWhole,    ///< the right one, and this quarter whole
    kWindowOf,        ///< `other` keys to the left
    kWindowBoth,      ///< as many keys to the right as to the left
    kWindowOfFirst,   ///< the window of the shard's first row for all its rows
    kWindowOfLast,    ///< that of its last row
    kBorderLost,      ///< without the inner border `other` of packed sequences
    kBorderAlone,     ///< with this inner border alone
    kBordersAfter,    ///< a position that is a border belongs to the sequence before, the very first one too
    kPacksOfPlaces,   ///< indices in shard and block are located between the borders
    kPackLengths,     ///< lengths of packed sequences are taken for their borders
    kPackOneBefore,   ///< each row also sees the last key before its sequence
  };
  Kind kind = Kind::kRight;
  int other = 0;  ///< see above

  friend auto operator<=>(const NamedMask&, const NamedMask&) = default;
};

/// The set of masks to try: each cuts the pairs into more cells, which need more numbers.
enum class MaskSet : std::uint8_t {
  kCommon,
  kAll,
};

/// The masks that may have been applied, the right one first.
std::vector<NamedMask> named_masks(const BlockProblem& problem, const Arrangement& place, MaskSet set);

/// Whether row `i` of a shard sees key `n` of a block through this mask.
bool sees(const BlockProblem& problem, const Arrangement& place, NamedMask mask, int shard, Index i,
          int block, Index n);

}  // namespace ringcraft::verify
