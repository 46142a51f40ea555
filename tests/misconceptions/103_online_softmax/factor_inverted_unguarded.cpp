// OS4: the factor points the other way, from the first score on.
// Fails: one-score "is NaN"
// Hint: Moving to a larger maximum must make old terms smaller or larger?
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  for (const T x : scores) {
    const T m = std::max(x, state.max);
    state.sum = state.sum * std::exp(m - state.max) + std::exp(x - m);
    state.max = m;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
