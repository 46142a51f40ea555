#pragma once
/// @file
/// What the exact comparison and the rule for rounded answers share; not for users of the harness.

#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// The largest error that passes is relative * unit + tiny, the unit being that of the element.
struct Tolerance {
  double relative, tiny;

  /// |got - want| over the unit, which counts as no smaller than the one at which `tiny` takes over (below it
  /// there is only underflow): 0 for equal numbers (-inf included), infinite where `got` is no number.
  double measured(double got, double want, double unit) const;
};

/// Every element against its bound: right iff finite and within it, or equal where an infinity is expected.
/// `unit` has the tensors of `want`.
Comparison compare(const Answer& got, const Answer& want, const Answer& unit, Expect expect,
                   const Tolerance& tolerance);

}  // namespace ringcraft::verify
