// Mistake: The range of a row is compared with the number of the key within the tile instead of with its number in the block.
// Also: The search for the largest score of a tile begins at 0 instead of at -inf, so m is never below 0.
// Lesson 105: attention tile by tile, in linear memory (see blockwise.hpp). The loop over tiles is in
// tiles.hpp; what happens inside of one is online softmax for a few rows and keys at a time.
#include <limits>
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    [[maybe_unused]] const Matrix<T> weights = memory.fit(t);  // [rows of the tile, keys of the tile]
    constexpr T hidden = -std::numeric_limits<T>::infinity();
    for (Index i = 0; i < t.rows(); ++i) {
      const Index row = t.row0 + i;
      const int lo = ranges.begin[std::size_t(row)], hi = ranges.end[std::size_t(row)];
      T top = 0;
      for (Index j = 0; j < t.keys(); ++j) {
        const Index key = j;
        T s = hidden;
        if (key >= lo && key < hi) {
          s = 0;
          for (Index c = 0; c < q.cols; ++c) s += q(row, c) * k(t.key0 + j, c);
          s *= softmax_scale;
        }
        weights(i, j) = s;
        top = std::max(top, s);
      }
      if (top == hidden) continue;
      T& m = acc.max[std::size_t(row)];
      T& l = acc.sum[std::size_t(row)];
      const T m_new = std::max(m, top);
      const T alpha = std::exp(m - m_new);
      l *= alpha;
      for (Index c = 0; c < acc.out.cols; ++c) acc.out(row, c) *= alpha;
      for (Index j = 0; j < t.keys(); ++j) {
        const T p = std::exp(weights(i, j) - m_new);
        l += p;
        for (Index c = 0; c < acc.out.cols; ++c) acc.out(row, c) += p * v(t.key0 + j, c);
      }
      m = m_new;
    }
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
