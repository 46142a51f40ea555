// Mistake: the second scan already writes the exponentials into weights, and the third scan still computes exp(scores[j] - m) from scores: where both spans are the same memory it takes the exponential of the exponential minus m; with separate memory everything is right.
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
  const T top = *std::max_element(scores.begin(), scores.end());
  const T shift = std::isinf(top) ? T(0) : top;
  const auto weigh = [shift](T s) { return std::exp(s - shift); };
  T total = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = weigh(scores[j]);
    total += weights[j];
  }
  if (total == T(0)) return;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = weigh(scores[j]) / total;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
