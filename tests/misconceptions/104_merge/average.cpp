// MG1: the plain average of both sides.
// Fails: two-halves "m + log l is"
// Hint: A block with tiny scores deserves which weight?
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
    l = (l + block_l) / 2;
    for (Index j = 0; j < acc.out.cols; ++j) acc.out(i, j) = (acc.out(i, j) + block.out(i, j)) / 2;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
