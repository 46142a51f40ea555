// Mistake: O of both sides is weighted with exp(m_side - m) * l_side instead of with exp(m_side - m) alone, as if O were divided by l already; m and l are right.
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
  for (Index row = 0; row < acc.out.rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const T top = acc.max[r] < block.max[r] ? block.max[r] : acc.max[r];
    if (std::isinf(top)) continue;
    const T mine = acc.sum[r] * std::exp(acc.max[r] - top);
    const T theirs = block.sum[r] * std::exp(block.max[r] - top);
    for (Index c = 0; c < acc.out.cols; ++c)
      acc.out(row, c) = mine * acc.out(row, c) + theirs * block.out(row, c);
    acc.sum[r] = mine + theirs;
    acc.max[r] = top;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
