#pragma once
/// @file
/// Merges blocks into one result, correctly or with one of the common mistakes.

#include <limits>
#include <vector>

#include "verify/diagnose/twisted/twist.hpp"

namespace ringcraft::verify {

/// The maximum of the scores of no key, and the lse.
constexpr double kNoKey = -std::numeric_limits<double>::infinity();

/// The range of exp in a number type: above `high` it is infinite, below `low` it is 0.
struct ExponentRange {
  double low = -745.0, high = 709.0;

  /// exp in this range.
  double exp(double x) const;
};

/// The partial result of one row for one block: the maximum m of the scores, l = sum exp(score - m), O = sum
/// exp(score - m) v.
struct BlockPartial {
  double max = kNoKey;
  double sum = 0;
  std::vector<double> out;  ///< [head_dim]
  int keys = 0;             ///< visible ones
  int source = 0;           ///< rank that owns the block

  /// log of the sum of exp(score); -inf if no key is visible.
  double lse() const;
};

/// A row of out, and its lse.
struct Merged {
  std::vector<double> out;
  double lse = kNoKey;
};

/// The returned lse of one row, for mistakes that depend only on its right value and its maximum. Other
/// mistakes leave it right.
double twisted_lse(LseTwist twist, double lse, double max);

/// Merges the partials of all steps in order. `own` is the index of the rank's own block.
Merged merged(MergeTwist merge, LseTwist lse, const std::vector<BlockPartial>& partials, int own,
              const ExponentRange& range);

}  // namespace ringcraft::verify
