// MG3: weights exp(m), without subtracting the larger maximum.
// Fails: extreme-maxima "near 1000: row 0: m + log l is inf"
// Hint: Safe softmax once more: what do you subtract from two maxima?
#include <cmath>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    const T weight = std::exp(m), block_weight = std::exp(block_m);
    m = m == block_m && l == 0 && block_l == 0 ? m : T(0);
    l = weight * l + block_weight * block_l;
    for (Index j = 0; j < acc.out.cols; ++j)
      acc.out(i, j) = weight * acc.out(i, j) + block_weight * block.out(i, j);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
