// EN1: forgets the last score.
// Fails: falling "scores 5, 4, 2, 1, 0.5: m + log l is 5.361849039"
// Hint: Which index is the last one, and does your loop reach it?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (const T s : scores.first(scores.empty() ? 0 : scores.size() - 1)) {
    const T largest = std::max(state.max, s);
    const T shift = largest == kNothing ? T(0) : largest;
    state.sum = state.sum * std::exp(state.max - shift) + std::exp(s - shift);
    state.max = largest;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
