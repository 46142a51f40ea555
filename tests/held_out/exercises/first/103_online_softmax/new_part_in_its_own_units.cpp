// Mistake: The new scores are scanned for themselves, and where the given state has the larger maximum their sum is added to the old one without the factor exp(new maximum - old maximum).
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T m = kNothing, l = 0;  // of these scores alone
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const T s = scores[j];
    if (s == kNothing) continue;
    if (s > m) {
      l *= std::exp(m - s);
      m = s;
    }
    l += std::exp(s - m);
  }
  if (m == kNothing) return state;

  if (m > state.max)
    state = {m, state.sum * std::exp(state.max - m) + l};
  else
    state.sum += l;
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
