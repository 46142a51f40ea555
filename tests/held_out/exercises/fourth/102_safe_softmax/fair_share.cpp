// Mistake: Two mistakes. The sum of exponentials is added up in float instead of in T, so that weights in double are good to about 7 digits only; and a row in which every score is -inf gets the weights 1 / n instead of 0.
// Lesson 102: softmax of one row in three scans, safe from overflow (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  if (scores.empty()) return;
  T largest = scores[0];
  for (std::size_t j = 1; j < scores.size(); ++j)
    if (scores[j] > largest) largest = scores[j];
  if (std::isinf(largest)) {
    const T share = T(1) / static_cast<T>(scores.size());
    for (T& w : weights) w = share;
    return;
  }
  float sum = 0.0f;
  for (const T s : scores) sum += static_cast<float>(std::exp(s - largest));
  const T inverse = T(1) / static_cast<T>(sum);
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = inverse * std::exp(scores[j] - largest);
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
