// Mistake: In the last head_dim % 4 columns of each row acc.out is not multiplied with its own weight exp(m_acc - m) before the weighted block is added; the columns before them, m and l are right.
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
  const auto factor = [](T max, T largest) {
    return max == -std::numeric_limits<T>::infinity() ? T(0) : std::exp(max - largest);
  };
  const std::size_t width = static_cast<std::size_t>(acc.out.cols), whole = width - width % 4;
  for (Index i = 0; i < acc.out.rows; ++i) {
    const auto a = static_cast<std::size_t>(i);
    const T largest = std::max(acc.max[a], block.max[a]);
    const T keep = factor(acc.max[a], largest), take = factor(block.max[a], largest);
    T* const to = acc.out.row(i).data();
    const T* const from = block.out.row(i).data();
    std::size_t c = 0;
    for (; c < whole; c += 4) {
      to[c + 0] = keep * to[c + 0] + take * from[c + 0];
      to[c + 1] = keep * to[c + 1] + take * from[c + 1];
      to[c + 2] = keep * to[c + 2] + take * from[c + 2];
      to[c + 3] = keep * to[c + 3] + take * from[c + 3];
    }
    for (; c < width; ++c) to[c] += take * from[c];
    acc.sum[a] = keep * acc.sum[a] + take * block.sum[a];
    acc.max[a] = largest;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
