// Mistake: Every exponential is divided by the sum plus 1e-6 instead of by the sum.
// Lesson 102: softmax of one row in three scans, safe from overflow (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  if (scores.empty()) return;
  const T largest = *std::max_element(scores.begin(), scores.end());
  const T shift = std::isinf(largest) ? T(0) : largest;
  std::transform(scores.begin(), scores.end(), weights.begin(), [=](T s) { return std::exp(s - shift); });
  T total = 0;
  for (T e : weights) total += e;
  const T divisor = total + T(1e-6);
  for (T& e : weights) e /= divisor;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
