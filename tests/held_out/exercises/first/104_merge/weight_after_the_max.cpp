// Mistake: m is overwritten before the columns are merged, so the weight of acc for O is computed from the new maximum and is always 1; l is right.
// Lesson 104: two partial results of attention become one (see merge.hpp). The ring and the host engine build
// on merge; it must hold for rows that one side, or both, have no key for.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>


namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    const auto r = static_cast<std::size_t>(i);
    const T m = std::max(acc.max[r], block.max[r]);
    if (m == -std::numeric_limits<T>::infinity()) continue;

    acc.sum[r] = std::exp(acc.max[r] - m) * acc.sum[r] + std::exp(block.max[r] - m) * block.sum[r];
    acc.max[r] = m;
    for (Index c = 0; c < acc.out.cols; ++c)
      acc.out(i, c) = std::exp(acc.max[r] - m) * acc.out(i, c) + std::exp(block.max[r] - m) * block.out(i, c);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
