// SS1: the formula as it stands.
// Fails: high "near 800: weight 0 of score"
// Hint: What is the largest number exp can return, and which score would exceed it?
#include <cmath>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T sum = 0;
  for (const T s : scores) sum += std::exp(s);
  const T norm = sum == T(0) ? T(1) : sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j]) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
