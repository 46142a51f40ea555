// MG14: -inf - (-inf) in a row without a visible score.
// Fails: nothing-seen "a weight is NaN, and must be 0"
// Hint: What is -inf - (-inf), and what must merging with nothing return?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T max = kNothing, sum = 0;
  for (const T s : scores) max = std::max(max, s);
  for (const T s : scores) sum += std::exp(s - max);
  const T norm = sum == T(0) ? T(1) : sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - max) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
