// OS11: the maximum moves with each score, but the sum follows it only once, at the end.
// Fails: rising "scores 1, 3: m + log l is"
// Hint: Permute the keys: may the result change?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  const T before = state.max;
  T sum = 0;
  for (const T s : scores) {
    state.max = std::max(state.max, s);
    sum += std::exp(s - (state.max == kNothing ? T(0) : state.max));
  }
  if (state.max == kNothing) return state;
  state.sum = state.sum * std::exp(before - state.max) + sum;
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
