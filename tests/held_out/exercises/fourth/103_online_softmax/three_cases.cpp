// Mistake: A score that equals the running maximum is not added to the sum (it should add 1): only scores above it and scores below it are handled.
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  const auto take = [](SoftmaxState<T> before, T s) -> SoftmaxState<T> {
    if (s > before.max) return {s, T(1) + before.sum * std::exp(before.max - s)};
    if (s < before.max && s > kNone) return {before.max, before.sum + std::exp(s - before.max)};
    return before;
  };
  for (std::size_t j = 0; j < scores.size(); ++j) state = take(state, scores[j]);
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
