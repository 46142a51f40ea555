// Mistake: When a score becomes the new maximum the sum is rescaled, but the 1 of this score itself is not added to it.
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  for (const T s : scores) {
    if (s > state.max) {
      state.sum *= std::exp(state.max - s);
      state.max = s;

    } else if (s != -std::numeric_limits<T>::infinity()) {
      state.sum += std::exp(s - state.max);
    }
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
