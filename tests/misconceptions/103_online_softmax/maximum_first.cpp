// OS3: the maximum is overwritten first, so that the factor is always exp(0).
// Fails: rising "scores 1, 3: m + log l is 3.693147181"
// Hint: Print your correction factor: is it ever different from 1?
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
    state.max = largest;
    state.sum =
        state.sum * (state.max == kNothing ? T(0) : std::exp(state.max - shift)) + std::exp(s - shift);
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
