// Mistake: The weight of acc is computed from the block's maximum and that of the block from acc's maximum.
// Also: A row that neither side has seen a key for subtracts -inf from -inf, which is NaN, instead of subtracting 0.
// Lesson 104: two partial results of attention become one (see merge.hpp). The ring and the host engine build
// on merge; it must hold for rows that one side, or both, have no key for.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

template <class T>
T scaled_sum(T wa, T a, T wb, T b) {
  return wa * a + wb * b;
}

}  // namespace

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    const auto s = std::size_t(i);
    const T ma = acc.max[s], mb = block.max[s];
    const T m = std::max(ma, mb);
    const T shift = m;
    const T wa = std::exp(mb - shift);
    const T wb = std::exp(ma - shift);
    acc.max[s] = m;
    acc.sum[s] = scaled_sum(wa, acc.sum[s], wb, block.sum[s]);
    for (Index j = 0; j < acc.out.cols; ++j)
      acc.out(i, j) = scaled_sum(wa, acc.out(i, j), wb, block.out(i, j));
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
