// OS13: a new maximum is counted when it is found, and once more with the others.
// Fails: one-score "m + log l is 0.6931471806"
// Hint: How often does the score that becomes the maximum enter the sum?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (const T s : scores) {
    const T largest = std::max(state.max, s);
    const T shift = largest == kNothing ? T(0) : largest;
    if (s > state.max) state.sum = state.sum * std::exp(state.max - s) + 1;
    state.max = largest;
    state.sum += std::exp(s - shift);
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
