// Mistake: When a score exceeds the running maximum by 8 or less, the maximum is replaced but the sum is not rescaled with exp(old maximum - new maximum); only larger jumps rescale it.
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kJump = 8;
  T m = state.max, l = state.sum;
  for (auto score = scores.begin(); score != scores.end(); ++score) {
    if (std::isinf(*score)) continue;
    const T growth = *score - m;
    if (growth > T(0)) {
      if (growth > kJump) l *= std::exp(-growth);
      m = *score;
    }
    l += std::exp(*score - m);
  }
  state.max = m;
  state.sum = l;
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
