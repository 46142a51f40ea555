// One maximum for all rows, kept from call to call.
// Fails: belongs "keeps max from call to call"
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  static T max = kNothing;
  T sum = 0;
  for (const T s : scores) max = std::max(max, s);
  const T shift = max == kNothing ? T(0) : max;
  for (const T s : scores) sum += std::exp(s - shift);
  const T norm = sum == T(0) ? T(1) : sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - shift) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
