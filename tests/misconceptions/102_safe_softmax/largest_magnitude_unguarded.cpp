// SS5: subtracts the largest absolute value, which may be infinite.
// Fails: low "scores near -800"
// Hint: Is the score of the largest magnitude also the largest score?
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T m = 0, sum = 0;
  for (const T s : scores) m = std::max(m, std::abs(s));
  for (const T s : scores) sum += std::exp(s - m);
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - m) / sum;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
