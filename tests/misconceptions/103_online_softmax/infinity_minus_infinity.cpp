// OS8: -inf - (-inf) before the first visible score.
// Fails: partly-seen "-inf comes first: m + log l is NaN"
// Hint: What is your correction factor before anything was seen?
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  for (const T s : scores) {
    const T largest = std::max(state.max, s);
    state.sum = state.sum * std::exp(state.max - largest) + std::exp(s - largest);
    state.max = largest;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
