// Equivalent: keeps lse instead of the maximum, so that l is 1 and O is normalised.
#include <algorithm>
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
    const T nothing = -std::numeric_limits<T>::infinity();
    const T mine = m + std::log(l), other = block_m + std::log(block_l), largest = std::max(mine, other);
    if (m == nothing && block_m == nothing) continue;
    const T norm = largest + std::log(std::exp(mine - largest) + std::exp(other - largest));
    const T weight = m == nothing ? T(0) : std::exp(m - norm);
    const T block_weight = block_m == nothing ? T(0) : std::exp(block_m - norm);
    m = norm;
    l = T(1);
    for (Index j = 0; j < acc.out.cols; ++j)
      acc.out(i, j) = weight * acc.out(i, j) + block_weight * block.out(i, j);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
