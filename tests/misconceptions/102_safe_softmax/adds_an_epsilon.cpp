// SS13: adds 1e-6 to the sum, against division by zero.
// Fails: one-score "its scale; 1e-12 is allowed"
// Hint: How small can a sum of exponentials be if the largest of them is exp(0)?
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
  const T shift = max == kNothing ? T(0) : max;
  for (const T s : scores) sum += std::exp(s - shift);
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - shift) / (sum + T(1e-6));
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
