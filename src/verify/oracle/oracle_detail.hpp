#pragma once
/// @file
/// One query head of the oracle: the quantities of each visible pair, row by row; internal to the harness.

#include <optional>
#include <vector>

#include "ringcraft/core/matrix.hpp"
#include "verify/oracle/rounding.hpp"

namespace ringcraft::verify {

/// The tensors of an answer for one head; gradients may have no rows.
struct HeadAnswer {
  Matrix<double> out, lse, dq, dk, dv;
};

/// Repeated rows in a head: equal numbers are rounded alike, so their errors add up and do not average out.
struct Repeats {
  std::vector<int> key_class;      ///< of each row of k, the same for equal rows; empty if no row repeats
  std::vector<double> same_query;  ///< number of rows of q equal to this one, itself included
  std::vector<char> flat;          ///< whether the scores of this row of q are all equal
};
/// Finds the repeats. If all rows of k are equal, all rows of q give the same weights, and count as equal.
Repeats repeats_of(const Matrix<const double>& q, const Matrix<const double>& k);
/// The number of rows of all heads for each row that is unlike all others.
double rows_for_each_unlike(const Buffer& q);

/// The inputs of one query head, and the destinations of its answer. deviation has no rows without a
/// Rounding; until finish_variances has run, its elements of dk and dv are variances.
struct OracleHead {
  Matrix<const double> q, k, v, dout;
  HeadAnswer value, scale, deviation;
  const Repeats* repeats;  ///< used with a Rounding only
};

/// Quantities that all heads of a problem share.
struct OracleTerms {
  double softmax_scale;
  std::optional<Rounding> rounding;
  double most_rows;  ///< query rows that may see one key, over the heads of its group
};

/// Adds the query rows [first, first + keys_of_row.size()) of a head, each of which sees these keys, to its
/// answer. Returns their largest C (see oracle.hpp); 0 without a Rounding.
double add_rows(const OracleHead& head, const OracleTerms& terms, Index first,
                const std::vector<std::vector<int>>& keys_of_row);

/// A sum of errors over all rows of a gradient of keys, weighed by a = value / deviation^2, of which a common
/// factor is estimated, and by b = 1 / deviation, of which a shift; 0 where there is no deviation.
struct SharedSums {
  Matrix<const double> a, b;
  double variance_a = 0, variance_b = 0;  ///< by the errors that the rows share (oracle.hpp)
};
/// Adds to these variances those of some query rows of a head, as add_rows takes them, once its deviations
/// are finished.
void add_shared(const OracleHead& head, const OracleTerms& terms, Index first,
                const std::vector<std::vector<int>>& keys_of_row, SharedSums& dk, SharedSums& dv);

/// Converts the variances of dk and dv that add_rows has summed to standard deviations, once all rows are
/// added.
void finish_variances(const Matrix<double>& deviation, const Matrix<double>& value, const Rounding& rounding);

}  // namespace ringcraft::verify
