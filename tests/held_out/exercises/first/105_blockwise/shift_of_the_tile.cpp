// Mistake: The exponentials of a tile are shifted by the largest score of the tile instead of by the running maximum, also where an earlier tile had a larger one.
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
    const auto qt = q.slice(t.row0, t.rows());
    const auto kt = k.slice(t.key0, t.keys());
    const auto vt = v.slice(t.key0, t.keys());
    const Partial<T> state = acc.slice(t.row0, t.rows());

    multiply_transposed<T>(qt, kt, softmax_scale, weights);
    for (std::size_t r = 0; r < state.max.size(); r++) {
      auto s = visible_scores(weights, t, ranges, static_cast<Index>(r));
      if (s.size() == 0) continue;
      const T biggest = *std::max_element(s.begin(), s.end());
      T& m = state.max[r];
      T& l = state.sum[r];
      if (biggest > m) {
        const T shrink = std::exp(m - biggest);
        l *= shrink;
        for (T& o : state.out.row(static_cast<Index>(r))) o *= shrink;
        m = biggest;
      }
      for (T& x : s) {
        x = std::exp(x - biggest);
        l += x;
      }
    }
    multiply_add<T>(weights, vt, T(1), state.out);
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
