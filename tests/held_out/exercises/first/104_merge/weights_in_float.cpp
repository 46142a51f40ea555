// Mistake: The two weights are computed in float also where T is double.
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
  const std::size_t rows = acc.max.size();
  for (std::size_t r = 0; r < rows; ++r) {
    const T m = std::max(acc.max[r], block.max[r]);
    if (m == -std::numeric_limits<T>::infinity()) continue;
    const float w_acc = std::exp(float(acc.max[r] - m));
    const float w_block = std::exp(float(block.max[r] - m));
    acc.max[r] = m;
    acc.sum[r] = w_acc * acc.sum[r] + w_block * block.sum[r];
    auto mine = acc.out.row(Index(r));
    auto theirs = block.out.row(Index(r));
    for (std::size_t c = 0; c < mine.size(); ++c) mine[c] = w_acc * mine[c] + w_block * theirs[c];
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
