// Mistake: The weights of a tile are added to l only in tiles where the maximum grows instead of in all tiles.
// Also: The values are read at the number of the key within its tile instead of within the block.
// Lesson 105: attention tile by tile, in linear memory (see blockwise.hpp). The loop over tiles is in
// tiles.hpp; what happens inside of one is online softmax for a few rows and keys at a time.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"

namespace ringcraft {

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    const Matrix<T> weights = memory.fit(t);
    for (Index i = 0; i < t.rows(); ++i) {
      const Index a = t.row0 + i;
      const auto n = static_cast<std::size_t>(a);
      const Index from = std::max<Index>(ranges.begin[n], t.key0);
      const Index to = std::min<Index>(ranges.end[n], t.key1);
      if (from >= to) continue;

      T top = acc.max[n];
      for (Index b = from; b < to; ++b) {
        T dot = 0;
        for (Index d = 0; d < q.cols; ++d) dot += q(a, d) * k(b, d);
        weights(i, b - t.key0) = softmax_scale * dot;
        top = std::max(top, softmax_scale * dot);
      }

      T added = 0;
      for (Index b = from; b < to; ++b) {
        T& w = weights(i, b - t.key0);
        w = std::exp(w - top);
        added += w;
      }
      if (top > acc.max[n]) {
        const T factor = std::exp(acc.max[n] - top);
        acc.sum[n] *= factor;
        acc.sum[n] += added;
        for (Index d = 0; d < q.cols; ++d) acc.out(a, d) *= factor;
        acc.max[n] = top;
      }

      for (Index b = from; b < to; ++b)
        for (Index d = 0; d < q.cols; ++d) acc.out(a, d) += weights(i, b - t.key0) * v(b - t.key0, d);
    }
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
