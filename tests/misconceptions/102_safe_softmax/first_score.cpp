// SS4: subtracts the first score.
// Fails: gaps "0 and then 800: weight 2"
// Hint: The first score is 0 and the next one 800: what does exp make of the difference?
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  const T max = scores.empty() ? kNothing : scores.front();
  T sum = 0;
  const T shift = max == kNothing ? T(0) : max;
  for (const T s : scores) sum += std::exp(s - shift);
  const T norm = sum == T(0) ? T(1) : sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - shift) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
