// OS4: the factor points the other way.
// Fails: rising "scores 1, 3: m + log l is 5.126928011"
// Hint: Moving to a larger maximum must make old terms smaller or larger?
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
    state.sum =
        state.sum * (state.max == kNothing ? T(0) : std::exp(shift - state.max)) + std::exp(s - shift);
    state.max = largest;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
