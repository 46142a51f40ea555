#pragma once
/// @file
/// A mask by another law: which places and which packed sequences it takes the rows of a shard and the keys
/// of a block for, how it compares them, and how it cuts a block.

#include <cstdint>
#include <vector>

#include "ringcraft/problem/mask.hpp"
#include "verify/diagnose/twisted/arrangement.hpp"

namespace ringcraft::verify {

/// Such a law; with every member at its first value it is the right one.
struct PairLaw {
  /// Where rows and keys stand.
  enum class Places : std::uint8_t {
    kRight,
    kRoundedUp,    ///< rank * ceil(seqlen / ranks) + row
    kRoundedDown,  ///< rank * floor(seqlen / ranks) + row
    kOwnLength,    ///< rank * the length of the own shard + row, of each by its own
    kQueryLength,  ///< the block begins at its rank * the length of the queries' shard
    kStepsBehind,  ///< the block stands `step` shards before the queries, also where the ring wraps round
    kRanksApart,   ///< the block stands |rank - source| shards before the queries
    kContiguous,   ///< those of the other layouts
    kStriped,
    kZigzag,
    kZigzagToken,
    kZigzagOfEqual,  ///< zigzag with all chunks of floor(seqlen / (2 ranks))
    kZigzagMiddle,   ///< zigzag with shards cut in the middle
    kRestartRows,    ///< the place in the packed sequence, of queries in its part on the own rank
    kRestartKeys,    ///< the same, of keys
    kRestartBoth,    ///< of both
  };
  /// Which packed sequence they are of.
  enum class Packs : std::uint8_t {
    kRight,
    kOfPlaces,       ///< by where they are taken to stand
    kCounted,        ///< each shard counts those that it has from 0
    kBordersOver,    ///< by the local row, with the borders over the number of ranks, rounded down
    kBordersOverUp,  ///< the same, rounded up
    kOfLocalRows,    ///< by the local row
    kKeysOfLocal,    ///< of keys alone by the local row
    kRowsOfLocal,    ///< of queries alone by the local row
    kOfFirstRow,     ///< that of the first row of the shard or block
    kKeysOfFirst,    ///< of keys alone: that of the first one of the block
    kContiguous,     ///< as if shards were runs of neighbours
    kOfNextBlock,    ///< of keys: that of the block that is arriving
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
  };
  /// Which tiles of queries and keys are left out by a test of their corners that is off.
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

/// Which block of a double ring one takes that of `source` for.
enum class NodeLabel : std::uint8_t {
  kRight,
  kFlat,         ///< blocks move within nodes, and are counted as on one flat ring
  kNested,       ///< blocks move on one flat ring, and are counted as on a double one
  kOuterAhead,   ///< nodes are counted in the other direction
  kInnerAhead,   ///< seats are counted in the other direction
  kInnerOnly,    ///< the hops between nodes are not counted
  kOuterOnly,    ///< the hops within a node are not counted
  kNodesInside,  ///< ranks are numbered node by node, and taken as seat by seat
  kMirrored,     ///< ranks - 1 - source
  kStep,         ///< the step itself
};
/// The rank that stands on the label; `inner` ranks are one node.
int labelled(NodeLabel label, int ranks, int inner, int rank, int source);

}  // namespace ringcraft::verify
