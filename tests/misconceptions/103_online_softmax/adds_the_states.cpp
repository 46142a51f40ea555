// MG6: scans the new scores by themselves and adds the sums, which stand against different maxima.
// Fails: continues "continued after the first 1"
// Hint: Are the two sums measured against the same maximum?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T max = kNothing, sum = 0;
  for (const T s : scores) {
    const T largest = std::max(max, s), shift = largest == kNothing ? T(0) : largest;
    sum = sum * std::exp(max - shift) + std::exp(s - shift);
    max = largest;
  }
  return {std::max(state.max, max), state.sum + sum};
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
