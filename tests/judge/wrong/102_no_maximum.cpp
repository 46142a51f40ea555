// SS1: the formula as it stands.
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
