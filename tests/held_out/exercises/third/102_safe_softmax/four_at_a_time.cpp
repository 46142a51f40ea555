// Mistake: the maximum is taken over whole groups of four scores only: the last size % 4 scores take no part in the maximum, though they do in the sum and get weights (a row of fewer than four scores is not shifted at all), so their exponentials overflow, or the others vanish, where one of them is far above the rest.
// Lesson 102: softmax of one row in three scans, safe from overflow (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  const std::size_t count = scores.size();
  T top[4] = {kNothing, kNothing, kNothing, kNothing};
  for (std::size_t j = 0; j + 4 <= count; j += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) top[lane] = std::max(top[lane], scores[j + lane]);
  T shift = std::max(std::max(top[0], top[1]), std::max(top[2], top[3]));
  if (shift == kNothing) shift = 0;

  T sum[4] = {};
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sum[lane] += std::exp(scores[j + lane] - shift);
  T norm = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  for (; j < count; ++j) norm += std::exp(scores[j] - shift);
  if (norm == T(0)) norm = 1;
  for (std::size_t n = 0; n < count; ++n) weights[n] = std::exp(scores[n] - shift) / norm;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
