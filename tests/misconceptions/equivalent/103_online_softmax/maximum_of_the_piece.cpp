// Equivalent: the same values, the maximum of all new scores first, as a tile does it, then one rescaling.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T largest = state.max;
  for (const T s : scores) largest = std::max(largest, s);
  if (largest == kNothing) return state;
  state.sum *= std::exp(state.max - largest);
  for (const T s : scores) state.sum += std::exp(s - largest);
  state.max = largest;
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
