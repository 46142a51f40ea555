// MG7: everything relative to the maximum of acc, so an exponent can be positive.
// Fails: extreme-maxima "800 above the first"
// Hint: Which of the two maxima may be the larger one inside exp?
#include <cmath>
#include <limits>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    if (block_m == -std::numeric_limits<T>::infinity()) continue;
    const bool first = m == -std::numeric_limits<T>::infinity();
    const T weight = first ? T(0) : T(1), block_weight = first ? T(1) : std::exp(block_m - m);
    if (first) m = block_m;
    l = weight * l + block_weight * block_l;
    for (Index j = 0; j < acc.out.cols; ++j)
      acc.out(i, j) = weight * acc.out(i, j) + block_weight * block.out(i, j);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
