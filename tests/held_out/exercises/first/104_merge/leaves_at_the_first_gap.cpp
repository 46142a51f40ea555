// Mistake: At the first row for which the block has seen no key the function returns instead of going on to the next row, so all rows behind it are not merged.
// Lesson 104: two partial results of attention become one (see merge.hpp). The ring and the host engine build
// on merge; it must hold for rows that one side, or both, have no key for.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>


namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  constexpr T kEmpty = -std::numeric_limits<T>::infinity();
  const auto rows = static_cast<std::size_t>(acc.out.rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (block.max[i] == kEmpty) return;

    const T old_max = acc.max[i];
    const T new_max = old_max > block.max[i] ? old_max : block.max[i];
    const T keep = std::exp(old_max - new_max);
    const T take = std::exp(block.max[i] - new_max);

    const std::span<T> to = acc.out.row(static_cast<Index>(i));
    const std::span<const T> from = block.out.row(static_cast<Index>(i));
    for (std::size_t d = 0; d < to.size(); ++d) to[d] = keep * to[d] + take * from[d];
    acc.sum[i] = keep * acc.sum[i] + take * block.sum[i];
    acc.max[i] = new_max;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
