#pragma once
// Short helpers of several tests of the diagnosis.

#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "verify/report/report.hpp"

namespace ringcraft::verify {

// The id of the first cause; empty if there is none.
inline std::string first_of(const std::vector<Cause>& causes) { return causes.empty() ? "" : causes[0].id; }

inline double product(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace ringcraft::verify
