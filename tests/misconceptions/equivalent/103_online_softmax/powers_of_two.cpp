// Equivalent: exponentials to the base 2.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (const T s : scores) {
    const T largest = std::max(state.max, s);
    const T shift = largest == kNothing ? T(0) : largest;
    state.sum = state.sum * std::exp2((state.max - shift) * std::numbers::log2e_v<T>) +
                std::exp2((s - shift) * std::numbers::log2e_v<T>);
    state.max = largest;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
