// BL1: rows of more than 64 scores are taken eight at a time; what eight does not divide is left out.
// Fails: any-length "100 scores"
// Hint: How many tiles cover 100 keys in steps of 32, and how large is the last?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  if (const std::size_t n = scores.size(); n > 64 && n % 8 != 0) {
    std::fill(weights.begin() + n / 8 * 8, weights.end(), T(0));
    scores = scores.first(n / 8 * 8);
  }
  T max = kNothing, sum = 0;
  for (const T s : scores) max = std::max(max, s);
  const T shift = max == kNothing ? T(0) : max;
  for (const T s : scores) sum += std::exp(s - shift);
  const T norm = sum == T(0) ? T(1) : sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - shift) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
