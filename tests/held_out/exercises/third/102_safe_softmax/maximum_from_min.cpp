// Mistake: the search for the maximum starts from std::numeric_limits<T>::min(), the smallest positive number, instead of -infinity: a row of only negative scores is shifted by about 0 and not by its maximum, so the exponentials of very negative scores all underflow and the weights come out as 0 (or inexact).
// Lesson 102: softmax of one row in three scans, safe from overflow (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T top = std::numeric_limits<T>::min();
  for (std::size_t j = 0; j < scores.size(); ++j)
    if (scores[j] > top) top = scores[j];

  T total = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) total += std::exp(scores[j] - top);

  for (std::size_t j = 0; j < scores.size(); ++j)
    weights[j] = total > T(0) ? std::exp(scores[j] - top) / total : T(0);
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
