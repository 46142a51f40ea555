#pragma once
/// @file
/// Equality of two numbers in a function's diagnosis.

#include <algorithm>
#include <cmath>

namespace ringcraft::verify {

/// Whether two numbers differ by at most `within` of the larger one's magnitude, which counts as `floor` if
/// it is smaller. Infinities agree with themselves, and NaN with nothing.
inline bool agree(double a, double b, double within, double floor = 0) {
  return a == b || (std::isfinite(a) && std::isfinite(b) &&
                    std::fabs(a - b) <= within * std::max({std::fabs(a), std::fabs(b), floor}));
}

/// The same, where NaN agrees with NaN: for numbers that a mistake must give.
inline bool agree_or_nan(double a, double b, double within, double floor = 0) {
  return agree(a, b, within, floor) || (std::isnan(a) && std::isnan(b));
}

}  // namespace ringcraft::verify
