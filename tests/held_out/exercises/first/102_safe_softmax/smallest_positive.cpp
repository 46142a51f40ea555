// Mistake: The search for the maximum begins at numeric_limits::min(), the smallest positive number, instead of below all scores, so a row of negative scores is shifted by almost 0 instead of by its maximum.
// Lesson 102: softmax of one row in three scans, safe from overflow (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T biggest = std::numeric_limits<T>::min();
  for (const T& s : scores)
    if (s > biggest) biggest = s;
  T sum = T(0);
  for (const T& s : scores) sum += std::exp(s - biggest);
  if (sum == T(0)) sum = T(1);
  for (std::size_t n = 0; n != scores.size(); ++n) weights[n] = std::exp(scores[n] - biggest) / sum;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
