#pragma once
/// @file
/// One row of a merge, and the names of its weights; internal to the harness.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/twisted/twisted_merge.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// Relative tolerances of agreeing numbers. Weights below the floor count as 0.
struct MergeNear {
  double named;  ///< to a named weight, or to one rounded to float
  double exact;  ///< to the right one
  double floor;
};
/// The tolerances for this precision.
MergeNear merge_near(DType precision);

/// The largest of several errors of rounding to float is at least this, relative to its number; smaller
/// numbers come from an addition.
constexpr double kLeastOfFloat = 5e-9;

/// One row of a merge.
struct MergeRow {
  double max_a, max_b;                        ///< m of acc and of the block
  double sum_a, sum_b;                        ///< l
  double max, sum;                            ///< of the result
  std::span<const double> out_a, out_b, out;  ///< O
  bool normalized;                            ///< m is lse, l is 1, and O is out

  /// The new m, or the new lse.
  double right_max() const;
};
/// Row `row` of a merge.
MergeRow merge_row(const MergeExhibit& exhibit, Index row);

/// A quantity that a weight may consist of, for the side whose maximum is `own`.
struct MergeWeight {
  const char* words;
  std::function<double(const MergeRow&, double own, double other)> value;
};
/// All of them; the right one first.
const std::vector<MergeWeight>& merge_weights();

/// "exp(m_acc - m), divided by the new l": the name of one number per row. `right`: whether it is the right
/// one, with the rows' own maximum or with the true one.
struct NamedWeight {
  std::string words;
  bool right;
  bool exact;      ///< beyond float's digits
  double off = 0;  ///< largest deviation, if less than rounding to float, or constant
};
/// The name of the numbers of these rows; empty if they have none.
std::optional<NamedWeight> named_weight(const std::vector<MergeRow>& rows, const std::vector<double>& weight,
                                        bool of_acc, const MergeNear& near);

/// Elements of O that are merged with the weights of another row, numbers in float, a block that is written.
std::optional<Cause> cause_of_merged_elements(const MergeExhibit& exhibit);

}  // namespace ringcraft::verify
