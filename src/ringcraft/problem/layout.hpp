#pragma once
/// @file
/// Layouts: which rank owns which token. Every layout gives a rank an increasing list of positions; shards
/// differ by at most one token for any length and any number of ranks, and may be empty. Packed sequences are
/// dealt as one, or each by itself.

#include <string>
#include <string_view>
#include <vector>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/problem/mask.hpp"

namespace ringcraft {

/// How tokens are dealt to ranks.
///   contiguous    rank r owns the r-th of N chunks
///   striped       token p belongs to rank p mod N
///   zigzag        2N chunks; rank r owns chunk r and chunk 2N-1-r (the layout that training systems use)
///   zigzag-token  striped, but every second round runs backwards: 0 1 2 2 1 0 0 1 2 ...
enum class Layout : std::uint8_t { kContiguous, kStriped, kZigzag, kZigzagToken };

/// All four, in the order in which the course meets them.
inline constexpr Layout kLayouts[] = {Layout::kContiguous, Layout::kStriped, Layout::kZigzag,
                                      Layout::kZigzagToken};

/// The name as the command line spells it.
std::string_view name_of(Layout layout);

/// The positions first, first + stride, first + 2 stride, ...: `count` of them, which may be 0.
struct PositionRun {
  Position first;   ///< the first position
  Position stride;  ///< from one to the next, at least 1
  Index count;      ///< number of positions
};

/// Runs of a rank in a sequence that is dealt as one: chunks of a zig-zag, or rounds in either direction.
inline constexpr std::size_t kRunsOfASequence = 2;

/// A sequence dealt to ranks; deal.hpp has the maps of the single layouts. Functions named target_from_source
/// convert between a rank's local row and the global position.
struct Sharding {
  Layout layout = Layout::kContiguous;  ///< how tokens are dealt
  Position seqlen = 0;                  ///< tokens of the whole sequence
  int world_size = 1;                   ///< number of ranks N
  /// Borders of packed sequences, from 0 to seqlen, each of which is dealt by itself: every rank owns its
  /// part of every sequence. Tokens that N does not divide go on where those of the sequence before ended:
  /// the ranks of a sequence are turned by that number, so that all shards still differ by at most one token.
  /// Empty: the whole sequence is dealt as one.
  std::vector<Position> cu_seqlens = {};
  /// Neighbours whose tokens a rank holds together: the sequence is dealt to world_size * joined ranks, and
  /// rank r owns what is dealt to those from r * joined on, in the order of the sequence. Shards may then
  /// differ by as many tokens. (For methods that deal heads among neighbours: parallel/hybrid.)
  int joined = 1;

  /// Throws Error unless there is such a rank.
  void require(int rank) const;
  /// Tokens that this rank owns, 0 included.
  Index rows(int rank) const;
  /// Rows of the largest shard.
  Index largest_rows() const;
  /// The rank that owns this position. Throws Error if no rank does.
  int owner_of(Position position) const;
  /// The position of local row `row` of `rank`.
  Position global_from_local(int rank, Index row) const;
  /// The local row of this position on its owner.
  Index local_from_global(Position position) const;
  /// The positions of a rank's rows, increasing.
  std::vector<Position> positions(int rank) const;
  /// The same positions as runs_of_a_sequence() runs for each sequence that is dealt by itself. The runs of
  /// all ranks in one sequence have one stride.
  std::vector<PositionRun> runs(int rank) const;
  /// Runs of a rank in one sequence, empty ones included.
  std::size_t runs_of_a_sequence() const { return kRunsOfASequence * static_cast<std::size_t>(joined); }

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

/// "zigzag", or "zigzag, each sequence by itself".
std::string described(const Sharding& sharding);

/// The rows of `whole` ([batch, heads, seqlen, width], host) that `rank` owns, in a new buffer.
Buffer scatter(const Buffer& whole, const Sharding& sharding, int rank);

/// Writes a rank's rows back to their global places in `whole`.
void gather(Buffer& whole, const Buffer& shard, const Sharding& sharding, int rank);

}  // namespace ringcraft
