// Mistake: The second scan already writes the exponentials into weights, and the third computes exp(scores[j] - max) / sum from scores again; where both spans are the same memory the score is gone by then, so that exp is applied to the exponential instead of to the score.
// Lesson 102: softmax of one row in three scans, safe from overflow (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  const T none = -std::numeric_limits<T>::infinity();
  const T top = std::accumulate(scores.begin(), scores.end(), none, [](T a, T b) { return a < b ? b : a; });
  const T m = top == none ? T(0) : top;
  const auto exponential = [m](T s) { return std::exp(s - m); };
  T l = 0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    weights[j] = exponential(scores[j]);
    l += weights[j];
  }
  if (l == T(0)) return;
  std::transform(scores.begin(), scores.end(), weights.begin(), [&](T s) { return exponential(s) / l; });
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
