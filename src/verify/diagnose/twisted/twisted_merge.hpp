#pragma once
/// @file
/// How blocks become one result, rightly or in one of the ways in which people get it wrong.

#include <limits>
#include <vector>

#include "verify/diagnose/twisted/twist.hpp"

namespace ringcraft::verify {

/// Where exp stops being a number: above `high` it is infinite, below `low` it is 0.
struct ExponentRange {
  double low = -745.0, high = 709.0;

  /// exp in this range.
  double exp(double x) const;
};

/// What one row sees of one block: the maximum m of the scores, l = sum exp(score - m), O = sum exp(score -
/// m) v.
struct BlockPartial {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::vector<double> out;  ///< [head_dim]
  int keys = 0;             ///< visible ones
  int source = 0;           ///< whose block it is

  /// log of the sum of exp(score); -inf if no key is visible.
  double lse() const;
};

/// A row of out, and its lse.
struct Merged {
  std::vector<double> out;
  double lse = -std::numeric_limits<double>::infinity();
};

/// lse as it is handed out, of one row: what can be said by its right value and its maximum alone. Other
/// mistakes leave it right.
double twisted_lse(LseTwist twist, double lse, double max);

/// The partials of all steps, in their order, as one result. `own` says which of them is the rank's own
/// block.
Merged merged(MergeTwist merge, LseTwist lse, const std::vector<BlockPartial>& partials, int own,
              const ExponentRange& range);

}  // namespace ringcraft::verify
