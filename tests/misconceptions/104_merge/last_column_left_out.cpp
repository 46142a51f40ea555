// EN1: the last column of O is left out.
// Fails: two-halves "O / l"
// Hint: Which index is the last one, and does your loop reach it?
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    const T largest = std::max(m, block_m);
    const T shift = largest == kNothing ? T(0) : largest;  // -inf - (-inf) would be NaN
    const T weight = std::exp(m - shift), block_weight = std::exp(block_m - shift);
    m = largest;
    l = weight * l + block_weight * block_l;
    const auto out = acc.out.row(i);
    const auto block_out = block.out.row(i);
    for (std::size_t j = 0; j + 1 < out.size(); ++j) out[j] = weight * out[j] + block_weight * block_out[j];
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
