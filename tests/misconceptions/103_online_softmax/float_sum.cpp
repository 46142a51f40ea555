// SS12: adds in float.
// Fails: rising "rounding makes less than 1e-12"
// Hint: Add 1 to 16 777 216 in float: what happens?
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
    state.sum = static_cast<float>(state.sum * std::exp(state.max - shift) + std::exp(s - shift));
    state.max = largest;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
