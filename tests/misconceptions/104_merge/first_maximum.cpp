// SS2: the larger maximum of the whole tile is taken, not that of each row.
// Fails: one-sided-rows "has seen no key, and its m is"
// Hint: Each row is its own softmax: whose maximum may row i use?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  T largest = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < acc.out.rows; ++i)
    largest =
        std::max({largest, acc.max[static_cast<std::size_t>(i)], block.max[static_cast<std::size_t>(i)]});
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    const T shift = largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
    const T weight = std::exp(m - shift), block_weight = std::exp(block_m - shift);
    m = largest;
    l = weight * l + block_weight * block_l;
    for (Index j = 0; j < acc.out.cols; ++j)
      acc.out(i, j) = weight * acc.out(i, j) + block_weight * block.out(i, j);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
