// Mistake: where the largest score of a row in this tile does not exceed the running maximum, the tile's keys are left out for this row altogether: nothing is added to l and O, although smaller scores have weights as well.
// Lesson 105: attention tile by tile, in linear memory (see blockwise.hpp). The loop over tiles is in
// tiles.hpp; what happens inside of one is online softmax for a few rows and keys at a time.
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
    const auto keys_here = k.slice(t.key0, t.keys()), values_here = v.slice(t.key0, t.keys());
    multiply_transposed<T>(q.slice(t.row0, t.rows()), keys_here, softmax_scale, weights);
    for (Index i = 0; i < t.rows(); ++i) {
      const Index a = t.row0 + i;
      T &m = acc.max[static_cast<std::size_t>(a)], &l = acc.sum[static_cast<std::size_t>(a)];
      const std::span<T> row = visible_scores(weights, t, ranges, i);
      const T top = row.empty() ? m : maximum<T>(row);
      if (top <= m) {
        std::fill(row.begin(), row.end(), T(0));
        continue;
      }
      const T down = std::exp(m - top);
      for (T& x : acc.out.row(a)) x *= down;
      l = down * l + exponentials(row, top);
      m = top;
    }
    multiply_add<T>(weights, values_here, T(1), acc.out.slice(t.row0, t.rows()));
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
