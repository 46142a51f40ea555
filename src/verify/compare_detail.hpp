#pragma once
/// @file
/// What the exact and the float comparison share; not for users of the harness.

#include "verify/compare.hpp"

namespace ringcraft::verify {

/// The largest error that passes is absolute[tensor] + relative * scale + tiny.
struct Tolerance {
  double relative, tiny;
  std::array<double, kAnswerNames.size()> absolute{};

  /// |got - want| over the scale, which counts as no smaller than the one at which `tiny` takes over (below
  /// it there is only underflow): 0 for equal numbers (-inf included), infinite where `got` is no number.
  double error_over_scale(double got, double want, double scale) const;
};

/// Every element against its bound: right iff finite and within it, or equal where an infinity is expected.
Comparison compare(const Answer& got, const Oracle& oracle, Expect expect, const Tolerance& tolerance);

}  // namespace ringcraft::verify
