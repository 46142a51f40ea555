// BL8: a row of the tile is taken to be as long as the tile has rows.
// Fails: one-tile "out of row"
// Hint: Try tiles of unequal sizes: which of the two belongs to the queries?
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
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    const Partial<T> state = acc.slice(t.row0, t.rows());
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> row = visible_scores(weights, t, ranges, i);
      if (row.empty()) continue;
      T &m = state.max[static_cast<std::size_t>(i)], &l = state.sum[static_cast<std::size_t>(i)];
      const T largest = std::max(m, maximum<T>(row));
      if (largest > m) {
        const T rescale = std::exp(m - largest);
        for (T& x : state.out.row(i)) x *= rescale;
        l *= rescale;
        m = largest;
      }
      l += exponentials(row, m);
    }
    const auto numbers = weights.data;
    for (Index i = 0; i < t.rows(); ++i)
      for (Index j = 0; j < t.keys(); ++j) {
        const auto at = static_cast<std::size_t>(i * t.rows() + j) % numbers.size();
        for (Index c = 0; c < v.cols; ++c) state.out(i, c) += numbers[at] * v(t.key0 + j, c);
      }
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
