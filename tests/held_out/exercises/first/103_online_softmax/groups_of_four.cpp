// Mistake: The scores are taken four at a time and the one to three scores behind the last whole group are left out.
// Also: A group of nothing but -inf that meets an empty state subtracts -inf from -inf, which is NaN, instead of subtracting 0.
// Lesson 103: maximum and sum of a row in one scan (see softmax.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  constexpr std::size_t kGroup = 4;
  const std::size_t n = scores.size();
  for (std::size_t i = 0; i + kGroup <= n; i += kGroup) {
    const auto group = scores.subspan(i, std::min(kGroup, n - i));
    const T top = std::max(state.max, *std::max_element(group.begin(), group.end()));
    const T ref = top;
    T part = T(0);
    for (const T s : group) part += std::exp(s - ref);
    state.sum = state.sum * std::exp(state.max - ref) + part;
    state.max = top;
  }
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
