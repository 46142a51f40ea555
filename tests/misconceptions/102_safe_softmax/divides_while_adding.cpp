// SS10: divides by the sum so far.
// Fails: ordinary "2 scores: weight 0"
// Hint: When you divide element 2, has element 1 already changed?
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
    sum += std::exp(scores[j] - shift);
    weights[j] = sum == T(0) ? T(0) : std::exp(scores[j] - shift) / sum;
  }
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
