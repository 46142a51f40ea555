// Mistake: O is merged as if both sides were divided by their l already: it becomes (w_a l_a O_a + w_b l_b O_b) / l with the new l, instead of w_a O_a + w_b O_b; m and l are right.
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
  const auto share = [](T max, T largest) {
    return max == -std::numeric_limits<T>::infinity() ? T(0) : std::exp(max - largest);
  };
  for (Index i = 0; i < acc.out.rows; ++i) {
    const auto r = static_cast<std::size_t>(i);
    const T largest = std::max(acc.max[r], block.max[r]);
    const T mine = share(acc.max[r], largest) * acc.sum[r];
    const T other = share(block.max[r], largest) * block.sum[r];
    const T total = mine + other;
    acc.max[r] = largest;
    acc.sum[r] = total;
    if (total == T(0)) continue;
    for (Index j = 0; j < acc.out.cols; ++j)
      acc.out(i, j) = (mine * acc.out(i, j) + other * block.out(i, j)) / total;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
