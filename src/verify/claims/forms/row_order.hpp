#pragma once
/// @file
/// The order in which a claim's rows are stored, and which file has which of them: --claim-layout.

#include <optional>
#include <string>
#include <vector>

#include "ringcraft/problem/layout.hpp"

namespace ringcraft::verify {

/// --claim-layout as typed: "zigzag", "zigzag:8" (over 8 virtual ranks), or the name of a file that lists the
/// position of every row.
struct ClaimLayout {
  std::optional<Layout> layout;     ///< empty if a file lists positions
  int virtual_ranks = 0;            ///< 0: as many as there are ranks
  std::vector<Position> positions;  ///< of all rows, if a file lists them
  std::string text;                 ///< as typed; empty: none
};

/// Reads the value of --claim-layout. Throws Error if a word is neither a layout nor the name of a file, and
/// if a file does not list every position of the sequence once.
ClaimLayout claim_layout_of(const std::string& text, Position seqlen);

/// Positions of the rows of each file; rows beyond the sequence are padding.
using Places = std::vector<std::vector<Position>>;

/// The positions of the rows of `files` files.
class RowOrder {
 public:
  /// Rows of one file in the order of the sequence.
  explicit RowOrder(Position seqlen) : RowOrder(Layout::kContiguous, seqlen, 1, 1) { whole_ = true; }
  /// Rows of rank 0, rank 1, ... of a layout, distributed over files: file f has those of virtual_ranks /
  /// files neighbouring ranks. With cu_seqlens each packed sequence is dealt by itself. Throws Error if the
  /// ranks cannot be distributed evenly.
  RowOrder(Layout layout, Position seqlen, int virtual_ranks, std::size_t files,
           std::vector<Position> cu_seqlens = {});
  /// Rows at listed positions, one file after the other.
  RowOrder(std::vector<Position> positions, std::size_t files);

  /// Rows of each file; empty if only the files themselves can tell.
  std::optional<std::vector<Index>> counts() const;
  /// Positions of the rows for these counts; empty if the counts do not fit.
  std::optional<Places> places(const std::vector<Index>& counts) const;
  /// The same if all files have equally many rows because the sequence, or each file, was padded at its end.
  std::optional<Places> padded_places(const std::vector<Index>& counts) const;
  /// The same order, but each file padded at its own end.
  RowOrder padded_in_files() const;
  /// The counts that would fit: "7, 6, 6, 6 rows (zigzag over 4 ranks, 25 tokens)".
  std::string expected() const;
  /// Advice for counts that do not fit: another layout, if one fits; else a list of positions.
  std::string advice(const std::vector<Index>& counts) const;

 private:
  Sharding sharding(Position seqlen) const { return {*layout_, seqlen, virtual_ranks_, cu_seqlens_}; }
  Places dealt(Position seqlen) const;

  std::optional<Layout> layout_;
  Position seqlen_;
  int virtual_ranks_ = 1;
  std::size_t files_;
  bool whole_ = false, padded_in_files_ = false;
  std::vector<Position> positions_, cu_seqlens_;
};

}  // namespace ringcraft::verify
