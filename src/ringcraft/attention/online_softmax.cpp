// Built on the online scan: softmax of one row in two scans, and the merge of two states.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {
namespace {

// The shift to subtract from scores whose maximum is m. A row without a key has m = -inf, and -inf - (-inf)
// would be NaN.
template <class T>
T shift_of(T max) {
  return max == -std::numeric_limits<T>::infinity() ? T(0) : max;
}

}  // namespace

template <class T>
void online_softmax(std::span<const T> scores, std::span<T> weights) {
  const SoftmaxState<T> state = online_scan(scores);
  const T shift = shift_of(state.max), norm = state.sum == T(0) ? T(1) : state.sum;
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - shift) / norm;
}

template <class T>
SoftmaxState<T> merged(SoftmaxState<T> a, SoftmaxState<T> b) {
  const T max = std::max(a.max, b.max), shift = shift_of(max);
  return {max, std::exp(a.max - shift) * a.sum + std::exp(b.max - shift) * b.sum};
}

template void online_softmax(std::span<const float>, std::span<float>);
template void online_softmax(std::span<const double>, std::span<double>);
template SoftmaxState<float> merged(SoftmaxState<float>, SoftmaxState<float>);
template SoftmaxState<double> merged(SoftmaxState<double>, SoftmaxState<double>);

}  // namespace ringcraft
