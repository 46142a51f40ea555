// Softmax of one row: safe in three scans, online in two (see softmax.hpp).
#include "ringcraft/attention/softmax.hpp"

#include <algorithm>
#include <cmath>

namespace ringcraft {
namespace {

// What to subtract from scores whose maximum is m. A row without a key has m = -inf, and -inf - (-inf) would
// be NaN.
template <class T>
T shift_of(T max) {
  return max == -std::numeric_limits<T>::infinity() ? T(0) : max;
}

template <class T>
void write_weights(std::span<const T> scores, SoftmaxState<T> state, std::span<T> weights) {
  const T shift = shift_of(state.max), norm = state.sum == 0 ? T(0) : 1 / state.sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - shift) * norm;
}

}  // namespace

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  SoftmaxState<T> state;
  for (const T s : scores) state.max = std::max(state.max, s);
  for (const T s : scores) state.sum += std::exp(s - shift_of(state.max));
  write_weights(scores, state, weights);
}

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  for (const T s : scores) {
    if (s > state.max) {
      state.sum *= std::exp(state.max - s);  // exp(-inf) = 0 at the first score
      state.max = s;
    }
    state.sum += std::exp(s - shift_of(state.max));
  }
  return state;
}

template <class T>
void online_softmax(std::span<const T> scores, std::span<T> weights) {
  write_weights(scores, online_scan(scores), weights);
}

template <class T>
SoftmaxState<T> merged(SoftmaxState<T> a, SoftmaxState<T> b) {
  const T max = std::max(a.max, b.max), shift = shift_of(max);
  return {max, std::exp(a.max - shift) * a.sum + std::exp(b.max - shift) * b.sum};
}

#define RINGCRAFT_INSTANTIATE(T)                                             \
  template void safe_softmax(std::span<const T>, std::span<T>);              \
  template SoftmaxState<T> online_scan(std::span<const T>, SoftmaxState<T>); \
  template void online_softmax(std::span<const T>, std::span<T>);            \
  template SoftmaxState<T> merged(SoftmaxState<T>, SoftmaxState<T>)
RINGCRAFT_INSTANTIATE(float);
RINGCRAFT_INSTANTIATE(double);
#undef RINGCRAFT_INSTANTIATE

}  // namespace ringcraft
