#pragma once
/// @file
/// Code shared by the exact comparison and the rule for rounded answers; internal to the harness.

#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// The largest error that passes is relative * unit + tiny, where unit is the element's.
struct Tolerance {
  double relative, tiny;

  /// |got - want| over the unit, which counts as no smaller than the one at which `tiny` takes over (below it
  /// there is only underflow): 0 for equal numbers (-inf included), infinite if `got` is not a number.
  double measured(double got, double want, double unit) const;
};

/// Compares every element with its bound: right iff finite and within it, or equal where an infinity is
/// expected. `unit` has the tensors of `want`.
Comparison compare(const Answer& got, const Answer& want, const Answer& unit, Expect expect,
                   const Tolerance& tolerance);

}  // namespace ringcraft::verify
