// OS18: compares each score with the one before it, not with the maximum so far.
// Fails: ordinary
// Hint: Is the score before this one always the largest so far?
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T before = kNothing;
  for (const T s : scores) {
    if (s > before && (before != kNothing || s > state.max)) {
      state.sum *= std::exp((before == kNothing ? state.max : before) - s);
      state.max = s;
    }
    const T shift = state.max == kNothing ? T(0) : state.max;
    state.sum += std::exp(s - shift);
    before = s;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
