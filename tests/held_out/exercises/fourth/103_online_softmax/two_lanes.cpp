// Mistake: When the new scores are joined with the state that was handed in, the old state.sum is added as it is instead of being multiplied with exp(old state.max - new maximum); the returned sum is too large whenever the new scores raise the maximum of a state that has seen keys.
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  SoftmaxState<T> lane[2];
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const T s = scores[j];
    if (s == kNothing) continue;
    SoftmaxState<T>& mine = lane[j % 2];
    if (s > mine.max) {
      mine.sum = mine.sum * std::exp(mine.max - s) + T(1);
      mine.max = s;
    } else {
      mine.sum += std::exp(s - mine.max);
    }
  }
  T top = state.max;
  for (const SoftmaxState<T>& part : lane)
    if (part.max > top) top = part.max;
  if (top == kNothing) return state;
  T total = state.sum;
  for (const SoftmaxState<T>& part : lane) total += part.sum * std::exp(part.max - top);
  return {top, total};
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
