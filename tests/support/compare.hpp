#pragma once
/// @file
/// The difference of two tensors, in one number that is NaN or infinite when it should be: write
/// CHECK(difference(a, b) <= tolerance), which NaN fails.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft::testing {

/// The largest |a - b| / (1 + |b|). Equal infinities differ by nothing; any NaN makes the result NaN;
/// different lengths make it infinite.
template <class T>
double difference(std::span<const T> a, std::span<const T> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double d = std::fabs(double{a[i]} - double{b[i]}) / (1 + std::fabs(double{b[i]}));
    if (std::isnan(d)) return d;
    worst = std::max(worst, d);
  }
  return worst;
}

inline double difference(const Buffer& a, const Buffer& b) {
  if (a.extents() != b.extents()) return std::numeric_limits<double>::infinity();
  const Buffer x = converted(a, DType::kFloat64), y = converted(b, DType::kFloat64);
  return difference<double>(x.values<double>(), y.values<double>());
}

inline double difference(const Output& a, const Output& b) {
  return std::max(difference(a.out, b.out), difference(a.lse, b.lse));
}

/// Same extents, type and bits.
inline bool identical(const Buffer& a, const Buffer& b) {
  return a.extents() == b.extents() && a.dtype() == b.dtype() && std::ranges::equal(a.bytes(), b.bytes());
}

}  // namespace ringcraft::testing
