// OS3: m is overwritten before the weights are computed: what acc holds keeps its old currency.
// Fails: two-halves
// Hint: In units of which maximum was acc's sum counted, and do you still have that maximum?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/merge.hpp"
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
    const T shift = largest == kNothing ? T(0) : largest;
    m = largest;
    const T weight = std::exp(m - shift), block_weight = std::exp(block_m - shift);
    l = weight * l + block_weight * block_l;
    const auto out = acc.out.row(i);
    const auto block_out = block.out.row(i);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = weight * out[j] + block_weight * block_out[j];
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
