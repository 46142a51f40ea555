// Mistake: Where acc has the larger maximum the block's l is rescaled but its O is added without the factor.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; i++) {
    const auto r = static_cast<std::size_t>(i);
    T& m = acc.max[r];
    T& l = acc.sum[r];
    const T mb = block.max[r], lb = block.sum[r];
    if (std::isinf(mb)) continue;  // nothing new
    if (mb > m) {
      // change what we have into the currency of the block
      const T f = std::exp(m - mb);
      for (Index d = 0; d < acc.out.cols; d++) acc.out(i, d) = acc.out(i, d) * f + block.out(i, d);
      l = l * f + lb;
      m = mb;
    } else {
      // change the block into our currency
      const T f = std::exp(mb - m);
      for (Index d = 0; d < acc.out.cols; d++) acc.out(i, d) += block.out(i, d);
      l += f * lb;
    }
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
