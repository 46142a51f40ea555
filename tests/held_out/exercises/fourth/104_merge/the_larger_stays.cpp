// Mistake: Where the block has the larger maximum, acc.sum and acc.out are changed to the block's unit, but acc.max is left at its old, smaller value instead of being set to the block's maximum.
// Lesson 104: two partial results of attention become one (see merge.hpp). The ring and the host engine build
// on merge; it must hold for rows that one side, or both, have no key for.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (std::size_t i = 0; i < acc.max.size(); ++i) {
    if (block.max[i] == -std::numeric_limits<T>::infinity()) continue;
    const std::span<T> mine = acc.out.row(static_cast<Index>(i));
    const std::span<const T> other = block.out.row(static_cast<Index>(i));
    if (acc.max[i] >= block.max[i]) {
      const T shrink = std::exp(block.max[i] - acc.max[i]);
      acc.sum[i] += shrink * block.sum[i];
      for (std::size_t j = 0; j < mine.size(); ++j) mine[j] += shrink * other[j];
    } else {
      const T shrink = std::exp(acc.max[i] - block.max[i]);
      acc.sum[i] = shrink * acc.sum[i] + block.sum[i];
      for (std::size_t j = 0; j < mine.size(); ++j) mine[j] = shrink * mine[j] + other[j];
    }
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
