// SS14: writes the exponentials over the scores, and then takes the scores from there once more.
// Fails: drives-dense-attention "elements are wrong"
// Hint: Once a weight lies where its score was, can you still ask for the score?
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
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = std::exp(scores[j] - shift);
    sum += weights[j];
  }
  const T norm = sum == T(0) ? T(1) : sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - shift) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
