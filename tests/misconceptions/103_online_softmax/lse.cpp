// OS20: keeps m + log l where the maximum belongs, and 1 for the sum.
// Fails: falling "the largest score"
// Hint: Which number does the next scan compare its scores with?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T lse = state.max + std::log(state.sum);
  for (const T s : scores) {
    if (s == kNothing) continue;
    const T high = std::max(lse, s), low = std::min(lse, s);
    lse = high + std::log1p(std::exp(low - high));
  }
  if (lse == kNothing) return {};
  return {lse, T(1)};
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
