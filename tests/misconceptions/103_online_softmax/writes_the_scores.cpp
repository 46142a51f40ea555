// IN1: leaves weights in the caller's scores.
// Fails: scores-unchanged "changed the scores"
// Hint: Whose memory is it that you write to?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (const T& s : scores) {
    const T largest = std::max(state.max, s);
    const T shift = largest == kNothing ? T(0) : largest;
    state.sum = state.sum * std::exp(state.max - shift) + std::exp(s - shift);
    state.max = largest;
    const_cast<T&>(s) = std::exp(s - shift);
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
