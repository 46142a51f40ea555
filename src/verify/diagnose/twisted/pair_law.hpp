#pragma once
/// @file
/// A mask by another law: the places and packed sequences that it assigns to the rows of a shard and the keys
/// of a block, how it compares them, and how it cuts a block.

#include <cstdint>
#include <vector>

#include "ringcraft/problem/mask.hpp"
#include "verify/diagnose/twisted/arrangement.hpp"

namespace ringcraft::verify {

/// Such a law; with every member at its first value it is the right one.
struct PairLaw {
  /// The places of rows and keys.
  enum class Places : std::uint8_t {
    kRight,
    kRoundedUp,    ///< rank * ceil(seqlen / ranks) + row
    kRoundedDown,  ///< rank * floor(seqlen / ranks) + row
    kOwnLength,    ///< rank * the length of the own shard + row, of each by its own
    kQueryLength,  ///< the block begins at its rank * the length of the queries' shard
    kStepsBehind,  ///< the block lies `step` shards before the queries, also where the ring wraps around
    kRanksApart,   ///< the block lies |rank - source| shards before the queries
    kContiguous,   ///< those of the other layouts
    kStriped,
    kZigzag,
    kZigzagToken,
    kZigzagOfEqual,  ///< zigzag with all chunks of floor(seqlen / (2 ranks))
    kZigzagMiddle,   ///< zigzag with shards cut in the middle
    kRestartRows,    ///< the place in the packed sequence, of queries in its part on the own rank
    kRestartKeys,    ///< the same, of keys
    kRestartBoth,    ///< of both
    // Of queries that one call of a kernel gets with the keys that were gathered for them
    kEndOfAll,            ///< the shard's are the last of all tokens: bottom right of all keys
    kEndOfGathered,       ///< the shard's end with its last token: bottom right of the keys up to there
    kStartOfWindow,       ///< the shard's begin with the first key of its first window: top left from there
    kHaloShort,           ///< right, but the farthest key of the shard's first window is not there
    kChunkTop,            ///< zigzag: the chunk's are the first of all tokens: top left of all keys
    kChunkEndOfAll,       ///< as kEndOfAll, of the chunk
    kChunkStartOfWindow,  ///< as kStartOfWindow, of the chunk
  };
  /// The packed sequence of each place.
  enum class Packs : std::uint8_t {
    kRight,
    kOfPlaces,       ///< by the assigned place
    kCounted,        ///< each shard counts its own, from 0
    kBordersOver,    ///< by the local row, with the borders over the number of ranks, rounded down
    kBordersOverUp,  ///< the same, rounded up
    kOfLocalRows,    ///< by the local row
    kKeysOfLocal,    ///< of keys alone by the local row
    kRowsOfLocal,    ///< of queries alone by the local row
    kOfFirstRow,     ///< that of the first row of the shard or block
    kKeysOfFirst,    ///< of keys alone: that of the first one of the block
    kContiguous,     ///< as if shards were runs of neighbours
    kOfNextBlock,    ///< of keys: that of the block being received
    kOfBlockBefore,  ///< of keys: that of the block before
  };
  /// How two places are compared.
  enum class Compared : std::uint8_t {
    kRight,
    kModulo,             ///< their distance modulo seqlen
    kBothSides,          ///< the distance without its sign
    kLocalWindow,        ///< the window counts local rows
    kLocalWindowOver,    ///< the same, with the window over the number of ranks, rounded down
    kLocalWindowOverUp,  ///< rounded up
  };
  /// How a block is cut by local rows.
  enum class Cut : std::uint8_t {
    kRight,
    kHalf,            ///< zigzag: the early half is rows / 2, rounded down
    kFirstChunk,      ///< as long as the early chunk of rank 0
    kLastChunk,       ///< as long as the shortest chunk
    kOfQueries,       ///< of the block as long as that of the queries' shard
    kOfLateChunk,     ///< as long as the late one
    kBottomRight,     ///< striped: triangles are aligned at the bottom right corner, strict for later ranks
    kBottomRightAll,  ///< the same, never strict
    kBottomRightStrict,  ///< the same, strict but for the own block
    kTriangles,          ///< a triangle of local rows in the own and all earlier blocks, none later
    kTrianglesRight,     ///< the same, aligned at the bottom right corner
    // zigzag: a block keeps a causal triangle, where its early half, or the queries' late one, is whole
    kCausalEarlier,       ///< blocks of earlier ranks, by local rows
    kCausalEarlierRight,  ///< the same, aligned at the bottom right corner
    kCausalLater,         ///< blocks of later ranks
    kCausalLaterRight,
    kShifted,        ///< striped: triangles end at the diagonal, moved by own, earlier and later
    kShiftedInside,  ///< the same, later ranks' of all queries but the first and all keys but the last
  };
  /// Tiles of queries and keys that a wrong test of their corners skips.
  enum class Skip : std::uint8_t {
    kNone,
    kFarAtWindow,     ///< first query - last key >= window instead of >
    kFarByFirst,      ///< first query - first key > window
    kFarByLast,       ///< last query - last key > window
    kLateAtDiagonal,  ///< first key >= last query instead of >
    kLateByFirst,     ///< first key > first query
    kLateByLast,      ///< last key > last query
    kPackOfFirstKey,  ///< no query is of the first key's packed sequence
    kPackOfLastKey,   ///< no query is of the last key's
    kPackOfFirst,     ///< first query and first key are of two packed sequences
    kPackOfLast,      ///< first query and last key are
  };
  Places places{};
  Packs packs{};
  Compared compared{};
  Cut cut{};
  Skip skip{};
  Index tile = 0;  ///< rows and keys of a tile of Skip; 0: whole shards
  /// Of the shifted cuts: how many local rows the last visible key of the own block, of an earlier rank's and
  /// of a later rank's is past the query's own row. A striped causal mask has 0, 0 and -1.
  Index own = 0, earlier = 0, later = 0;

  friend bool operator==(const PairLaw&, const PairLaw&) = default;
};

/// A row of a shard or a key of a block, by its rank and its number there.
struct LocalRow {
  int rank;
  Index row;
};

/// Whether a law lets the query see the key. `positions` are those of all rows, in a ring.
bool sees_by_law(const PairLaw& law, const Mask& mask, const Arrangement& ring,
                 const std::vector<Position>& positions, LocalRow query, LocalRow key);

/// The block of a double ring for which that of `source` is taken.
enum class NodeLabel : std::uint8_t {
  kRight,
  kFlat,         ///< blocks move within nodes, and are numbered as on one flat ring
  kNested,       ///< blocks move on one flat ring, and are numbered as on a double one
  kOuterAhead,   ///< nodes are counted in the other direction
  kInnerAhead,   ///< seats are counted in the other direction
  kInnerOnly,    ///< the hops between nodes are not counted
  kOuterOnly,    ///< the hops within a node are not counted
  kNodesInside,  ///< ranks are numbered node by node, and interpreted as seat by seat
  kMirrored,     ///< ranks - 1 - source
  kStep,         ///< the step itself
};
/// The rank on the label; `inner` ranks are one node.
int labelled(NodeLabel label, int ranks, int inner, int rank, int source);

}  // namespace ringcraft::verify
