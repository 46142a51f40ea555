// Lesson 103: maximum and sum of a row in one scan.
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  // BEGIN SOLUTION 103 [online_scan]
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (const T s : scores) {
    if (s > state.max) {
      state.sum *= std::exp(state.max - s);  // exp(-inf) = 0 at the first score
      state.max = s;
    }
    const T shift = state.max == kNothing ? T(0) : state.max;  // -inf - (-inf) would be NaN
    state.sum += std::exp(s - shift);
  }
  return state;
  // END SOLUTION [online_scan]
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
