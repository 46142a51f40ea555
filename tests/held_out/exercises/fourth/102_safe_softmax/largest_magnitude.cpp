// Mistake: The number subtracted from the scores is the largest absolute value of the scores instead of their maximum; in a row of very negative scores all exponentials then vanish, and all weights become 0.
// Lesson 102: softmax of one row in three scans, safe from overflow (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  constexpr T kMasked = -std::numeric_limits<T>::infinity();
  const std::size_t n = scores.size();
  T reach = 0;
  for (const T s : scores)
    if (s != kMasked) reach = std::max(reach, std::abs(s));
  T total = 0;
  for (std::size_t j = 0; j < n; ++j) total += std::exp(scores[j] - reach);
  if (total == T(0)) {
    std::fill(weights.begin(), weights.end(), T(0));
    return;
  }
  for (std::size_t j = 0; j < n; ++j) weights[j] = std::exp(scores[j] - reach) / total;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
