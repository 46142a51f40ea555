// Mistake: The scan begins with a sum of 0 instead of with the sum of the state that it is given.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  const T none = -std::numeric_limits<T>::infinity();
  T m = state.max, l = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const T next = std::max(m, scores[i]);
    if (next == none) continue;
    l = l * std::exp(m - next) + std::exp(scores[i] - next);
    m = next;
  }
  return {m, l};
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
