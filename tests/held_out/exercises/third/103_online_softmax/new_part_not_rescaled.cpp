// Mistake: the scores are scanned by themselves and then put together with the incoming state; if the incoming maximum is at least as large as theirs, their sum is added as it is instead of being multiplied by exp(their maximum - incoming maximum) first.
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T m = kNothing, l = 0;
  for (const T s : scores) {
    if (s == kNothing) continue;
    if (s <= m) {
      l += std::exp(s - m);
    } else {
      l = l * std::exp(m - s) + T(1);
      m = s;
    }
  }
  if (m > state.max) {
    state.sum = state.sum * std::exp(state.max - m) + l;
    state.max = m;
  } else {
    state.sum += l;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
