// Mistake: where acc has seen no key yet (its maximum is -infinity), the block's O and m are copied but its l is not, so l stays 0 there; all other rows are right.
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
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < acc.out.rows; ++i) {
    const auto r = static_cast<std::size_t>(i);
    const std::span<T> to = acc.out.row(i);
    const std::span<const T> from = block.out.row(i);
    if (block.max[r] == kNothing) continue;
    if (acc.max[r] == kNothing) {
      std::copy(from.begin(), from.end(), to.begin());
      acc.max[r] = block.max[r];
      continue;
    }
    if (block.max[r] > acc.max[r]) {
      const T down = std::exp(acc.max[r] - block.max[r]);
      for (std::size_t j = 0; j < to.size(); ++j) to[j] = down * to[j] + from[j];
      acc.sum[r] = down * acc.sum[r] + block.sum[r];
      acc.max[r] = block.max[r];
    } else {
      const T down = std::exp(block.max[r] - acc.max[r]);
      for (std::size_t j = 0; j < to.size(); ++j) to[j] += down * from[j];
      acc.sum[r] += down * block.sum[r];
    }
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
