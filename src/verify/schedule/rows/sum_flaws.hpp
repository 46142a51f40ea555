#pragma once
/// @file
/// Whether a sum is right: every share that the mask asks for is in it, once.

#include <string>

#include "verify/schedule/rows/tensor_rows.hpp"

namespace ringcraft::verify {

/// The flaws of sums of one problem.
class SumFlaws {
 public:
  /// As TensorRows.
  SumFlaws(const Problem& problem, int degree) : rows_(problem, degree) {}

  /// Shares that some of these heads of a sum lack, or have too often: "lacks the share of rank 1", "lacks
  /// K1", or nothing if they are right.
  std::string of(const Content& sum, const std::vector<Index>& heads);
  /// The same for all of its heads.
  std::string of(const Content& sum);

  /// The tensors of the problem.
  const TensorRows& rows() const { return rows_; }

 private:
  std::string of_keys(const Content& sum, Index head);
  std::string of_queries(const Content& sum);
  bool sees(int queries, int keys);

  TensorRows rows_;
  std::map<std::pair<int, int>, bool> sees_;  // as far as it has been asked
};

}  // namespace ringcraft::verify
