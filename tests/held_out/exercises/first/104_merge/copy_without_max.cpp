// Mistake: Where acc has seen no key the block's O and l are copied but m stays -inf instead of becoming the block's m.
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
  constexpr T inf = std::numeric_limits<T>::infinity();
  for (Index i = 0; i != acc.out.rows; ++i) {
    const std::size_t n = static_cast<std::size_t>(i);
    const bool have = acc.max[n] > -inf, comes = block.max[n] > -inf;
    if (!comes) continue;
    const auto to = acc.out.row(i);
    const auto from = block.out.row(i);
    if (!have) {
      std::copy(from.begin(), from.end(), to.begin());
      acc.sum[n] = block.sum[n];

      continue;
    }
    const T largest = std::max(acc.max[n], block.max[n]);
    const T a = std::exp(acc.max[n] - largest), b = std::exp(block.max[n] - largest);
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), [&](T x, T y) { return a * x + b * y; });
    acc.sum[n] = a * acc.sum[n] + b * block.sum[n];
    acc.max[n] = largest;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
