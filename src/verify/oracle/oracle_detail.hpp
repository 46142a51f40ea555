#pragma once
/// @file
/// One query head of the oracle: the quantities of each visible pair, row by row; not for users of the
/// harness.

#include <optional>
#include <vector>

#include "ringcraft/core/matrix.hpp"
#include "verify/oracle/rounding.hpp"

namespace ringcraft::verify {

/// The tensors of an answer, as one head sees them; gradients may have no rows.
struct HeadAnswer {
  Matrix<double> out, lse, dq, dk, dv;
};

/// What repeats in a head: equal numbers are rounded alike, so that their errors add up and do not average
/// out.
struct Repeats {
  std::vector<int> key_class;      ///< of each row of k: those of equal rows are equal; empty if none is
  std::vector<double> same_query;  ///< rows of q that are equal to this one, itself included
  std::vector<char> flat;          ///< whether the scores of this row of q are all equal
};
/// With all rows of k equal, rows of q give the same weights, and count as equal.
Repeats repeats_of(const Matrix<const double>& q, const Matrix<const double>& k);
/// How many rows of all heads there are for each that is unlike all others.
double rows_for_each_unlike(const Buffer& q);

/// The inputs of one query head, and where its answer goes. deviation has no rows without a Rounding; until
/// finish_variances has seen them, its elements of dk and dv are variances.
struct OracleHead {
  Matrix<const double> q, k, v, dout;
  HeadAnswer value, scale, deviation;
  const Repeats* repeats;  ///< looked at with a Rounding only
};

/// What all heads of a problem have in common.
struct OracleTerms {
  double softmax_scale;
  std::optional<Rounding> rounding;
  double most_rows;  ///< query rows that a key may be seen by, over the heads of its group
};

/// Adds the query rows [first, first + keys_of_row.size()) of a head, each of which sees these keys, to its
/// answer. Returns the largest C of them (see oracle.hpp); 0 without a Rounding.
double add_rows(const OracleHead& head, const OracleTerms& terms, Index first,
                const std::vector<std::vector<int>>& keys_of_row);

/// Makes the sums of dk and dv that add_rows has left standard deviations, when all rows are added.
void finish_variances(const Matrix<double>& deviation, const Matrix<double>& value, const Rounding& rounding);

}  // namespace ringcraft::verify
