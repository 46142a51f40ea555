// Mistake: The sum is computed anew for every weight, so when scores and weights are the same memory it adds exponentials of weights that are already written instead of scores.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  const T minus_inf = -std::numeric_limits<T>::infinity();
  T m = minus_inf;
  for (std::size_t i = 0; i < scores.size(); i++) m = std::max(m, scores[i]);
  if (m == minus_inf) {
    std::fill(weights.begin(), weights.end(), T(0));
    return;
  }
  auto denominator = [&] {
    T l = T(0);
    for (std::size_t i = 0; i < scores.size(); i++) l += std::exp(scores[i] - m);
    return l;
  };

  for (std::size_t i = 0; i < scores.size(); i++) weights[i] = std::exp(scores[i] - m) / denominator();
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
