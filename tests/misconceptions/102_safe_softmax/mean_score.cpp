// SS8: subtracts the mean of the scores.
// Fails: gaps "-20000 and then 20000: weight 2"
// Hint: How far above the mean may the largest score be?
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T mean = 0, sum = 0;
  for (const T s : scores) mean += s / static_cast<T>(scores.size());
  if (mean == -std::numeric_limits<T>::infinity()) mean = 0;
  for (const T s : scores) sum += std::exp(s - mean);
  const T norm = sum == T(0) ? T(1) : sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - mean) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
