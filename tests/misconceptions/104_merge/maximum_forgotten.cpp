// MG6: adds l and O as if both sides had the same maximum.
// Fails: two-halves "m + log l is"
// Hint: Are the two sums measured against the same maximum?
#include <algorithm>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    m = std::max(m, block_m);
    l += block_l;
    for (Index j = 0; j < acc.out.cols; ++j) acc.out(i, j) += block.out(i, j);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
