#pragma once
/// @file
/// One query head of the oracle: the quantities of each visible pair, row by row; not for users of the
/// harness.

#include <optional>
#include <vector>

#include "ringcraft/core/matrix.hpp"
#include "verify/rounding.hpp"

namespace ringcraft::verify {

/// The tensors of an answer, as one head sees them; gradients may have no rows.
struct HeadAnswer {
  Matrix<double> out, lse, dq, dk, dv;
};

/// The inputs of one query head, and where its answer goes. deviation has no rows without a Rounding; until
/// finish_variances has seen them, its elements of dk and dv are variances.
struct OracleHead {
  Matrix<const double> q, k, v, dout;
  HeadAnswer value, scale, deviation;
};

/// What all heads of a problem have in common.
struct OracleTerms {
  double softmax_scale;
  std::optional<Rounding> rounding;
  double most_rows;  ///< query rows that a key may be seen by, over the heads of its group
};

/// Adds the query rows [first, first + keys_of_row.size()) of a head, each of which sees these keys, to its
/// answer. Returns the largest L of them (see oracle.hpp); 0 without a Rounding.
double add_rows(const OracleHead& head, const OracleTerms& terms, Index first,
                const std::vector<std::vector<int>>& keys_of_row);

/// Makes the sums of dk and dv that add_rows has left standard deviations, when all rows are added.
void finish_variances(const Matrix<double>& deviation, const Matrix<double>& value, const Rounding& rounding);

}  // namespace ringcraft::verify
