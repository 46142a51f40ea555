#pragma once
/// @file
/// Rows that a slightly wrong ring may have given: each with the keys in the order in which its rank meets
/// them, to be computed anew with a number rounded somewhere.

#include <functional>
#include <span>
#include <vector>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// The keys of a block; a hidden one has the score minus infinity.
struct ScoredBlock {
  std::vector<double> scores;
  std::vector<std::span<const double>> values;
  std::vector<Index> keys;  ///< by their rows
};

/// A row and the blocks that it meets, its rank's own first.
struct RowBlocks {
  RowPlace row;
  std::vector<ScoredBlock> blocks;
};

/// Rows of a claim, wrong ones and others.
class NearRows {
 public:
  explicit NearRows(const Evidence& evidence);

  /// How many there are.
  std::size_t count() const { return rows_.size(); }
  const std::vector<RowBlocks>& rows() const { return rows_; }
  /// Whether this gives the claim: nearly all rows (a number between two that can be kept goes either way),
  /// and in 16 bits, where each row by itself is too blunt, all together much better than right attention
  /// does.
  bool fit(const std::function<Merged(const RowBlocks&)>& value) const;

 private:
  bool fit(const std::function<Merged(const RowBlocks&)>& value, std::size_t most) const;

  const Evidence& e_;
  std::vector<RowBlocks> rows_;
};

}  // namespace ringcraft::verify
