// Mistake: two mistakes: the scan ends at the first score of -infinity instead of skipping it, so all scores behind it are lost; and when a score becomes the new maximum the sum is rescaled but the score's own term exp(0) = 1 is not added.
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  T &m = state.max, &l = state.sum;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const T s = scores[j];
    if (s == -std::numeric_limits<T>::infinity()) break;
    if (s > m) {
      l *= std::exp(m - s);
      m = s;
    } else {
      l += std::exp(s - m);
    }
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
