// Equivalent: no tiles and no matrix products, one key after the other.
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"

namespace ringcraft {

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize) {
  for (Index i = 0; i < q.rows; ++i) {
    T& m = acc.max[static_cast<std::size_t>(i)];
    T& l = acc.sum[static_cast<std::size_t>(i)];
    for (Index j = ranges.begin[static_cast<std::size_t>(i)]; j < ranges.end[static_cast<std::size_t>(i)];
         ++j) {
      T score = 0;
      for (Index c = 0; c < q.cols; ++c) score += q(i, c) * k(j, c);
      score *= softmax_scale;
      if (score > m) {
        const T factor = std::exp(m - score);
        for (T& x : acc.out.row(i)) x *= factor;
        l *= factor;
        m = score;
      }
      const T weight = std::exp(score - m);
      l += weight;
      for (Index c = 0; c < v.cols; ++c) acc.out(i, c) += weight * v(j, c);
    }
  }
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
