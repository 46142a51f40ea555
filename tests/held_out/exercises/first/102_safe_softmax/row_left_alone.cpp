// Mistake: A row of nothing but -inf is left before anything is written, so its weights stay what the memory held instead of becoming 0.
// Lesson 102: softmax of one row in three scans, safe from overflow (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T top = -std::numeric_limits<T>::infinity();
  for (T s : scores)
    if (s > top) top = s;
  if (top == -std::numeric_limits<T>::infinity()) return;

  T total = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = std::exp(scores[j] - top);
    total += weights[j];
  }
  for (T& w : weights) w /= total;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
