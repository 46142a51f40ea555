// Mistake: scores are added eight at a time, and the exponentials of a chunk are taken against the chunk's own maximum instead of the running maximum state.max: a chunk whose maximum lies below the running one is added too large by exp(state.max - chunk maximum).
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (std::size_t begin = 0; begin < scores.size(); begin += 8) {
    const auto chunk = scores.subspan(begin, scores.size() - begin < 8 ? scores.size() - begin : 8);
    T top = kNothing;
    for (const T s : chunk) top = s > top ? s : top;
    if (top == kNothing) continue;
    if (top > state.max) {
      state.sum *= std::exp(state.max - top);
      state.max = top;
    }
    for (const T s : chunk) state.sum += std::exp(s - top);
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
