// Mistake: A score that equals the maximum so far adds nothing to the sum instead of 1.
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  for (const T s : scores) {
    if (s == -std::numeric_limits<T>::infinity()) continue;
    if (s > state.max) {
      state.sum = state.sum * std::exp(state.max - s) + T(1);
      state.max = s;
    } else if (s < state.max) {
      state.sum += std::exp(s - state.max);
    }
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
