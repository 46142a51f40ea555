#pragma once
/// @file
/// Rows of a slightly wrong ring: each with the keys in the order in which its rank meets them, to be
/// recomputed with a number rounded somewhere.

#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// The keys of a block; a hidden one has the score minus infinity.
struct ScoredBlock {
  std::vector<double> scores;
  std::vector<std::span<const double>> values;
  std::vector<Index> keys;  ///< as rows of the tensor
};

/// A row and the blocks that it meets, its rank's own first.
struct RowBlocks {
  RowPlace row;
  std::vector<ScoredBlock> blocks;
};

/// Online softmax of one row, key by key.
class RowSums {
 public:
  explicit RowSums(std::size_t width) : out_(width, 0.0) {}

  /// Adds a visible key.
  void take(double score, std::span<const double> value);
  /// Ends it.
  Merged result() &&;

 private:
  std::vector<double> out_;
  double max_ = -HUGE_VAL, sum_ = 0;
};

/// Rows of a claim, wrong ones and others.
class NearRows {
 public:
  explicit NearRows(const Evidence& evidence);

  /// Number of rows.
  std::size_t count() const { return rows_.size(); }
  const std::vector<RowBlocks>& rows() const { return rows_; }
  /// Rows that may miss the claim.
  enum class Misses : std::uint8_t {
    kNone,
    kTies,  ///< one in ten: a number midway between two representable ones may round either way
  };
  /// Whether this gives the claim: all rows but such misses, which are as rare among the wrong rows; and in
  /// 16 bits, where a single row is too coarse, all rows together much better than right attention.
  bool fit(const std::function<Merged(const RowBlocks&)>& value, Misses misses) const;

 private:
  bool fit(const std::function<Merged(const RowBlocks&)>& value, Misses misses, std::size_t most) const;

  const Evidence& e_;
  std::vector<RowBlocks> rows_;
};

}  // namespace ringcraft::verify
