// MG14: -inf - (-inf) where neither side has seen a key.
// Fails: nothing-with-nothing "its l is NaN"
// Hint: What is -inf - (-inf), and what must merging with nothing return?
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    const T largest = std::max(m, block_m);
    const T weight = std::exp(m - largest), block_weight = std::exp(block_m - largest);
    m = largest;
    l = weight * l + block_weight * block_l;
    for (Index j = 0; j < acc.out.cols; ++j)
      acc.out(i, j) = weight * acc.out(i, j) + block_weight * block.out(i, j);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
