// Equivalent: a clamp that acts on rows without a visible score only, for every other sum is at least 1.
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
  const T norm = std::max(sum, T(1e-6));
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - shift) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
