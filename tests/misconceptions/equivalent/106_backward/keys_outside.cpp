// Equivalent: key tiles outside and row tiles inside, as GPU kernels have it; dS carries the scale.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"

namespace ringcraft {

template <class T>
void blockwise_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                        std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                        T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> first_memory(size), second_memory(size);
  for (Index key0 = 0; key0 < k.rows; key0 += size.keys)
    for (Index row0 = 0; row0 < q.rows; row0 += size.rows) {
      const TileBounds t{row0, std::min(row0 + size.rows, q.rows), key0, std::min(key0 + size.keys, k.rows)};
      if (ranges.tile(static_cast<int>(t.row0), static_cast<int>(t.row1), static_cast<int>(t.key0),
                      static_cast<int>(t.key1)) == Tile::kEmpty)
        continue;
      const Matrix<T> weights = first_memory.fit(t), dscores = second_memory.fit(t);
      multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
      multiply_transposed<T>(dout.slice(t.row0, t.rows()), v.slice(t.key0, t.keys()), softmax_scale, dscores);
      for (Index i = 0; i < t.rows(); ++i) {
        const auto a = static_cast<std::size_t>(t.row0 + i);
        for (T& x : visible_scores(weights, t, ranges, i)) x = std::exp(x - lse[a]);
        for (Index j = 0; j < t.keys(); ++j)
          dscores(i, j) = weights(i, j) * (dscores(i, j) - softmax_scale * delta[a]);
      }
      transposed_multiply_add<T>(weights, dout.slice(t.row0, t.rows()), T(1), dv.slice(t.key0, t.keys()));
      multiply_add<T>(dscores, k.slice(t.key0, t.keys()), T(1), dq.slice(t.row0, t.rows()));
      transposed_multiply_add<T>(dscores, q.slice(t.row0, t.rows()), T(1), dk.slice(t.key0, t.keys()));
    }
}

template void blockwise_backward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                 Matrix<const float>, std::span<const float>, std::span<const float>,
                                 const KeyRanges&, float, Matrix<float>, Matrix<float>, Matrix<float>,
                                 TileSize);
template void blockwise_backward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                 Matrix<const double>, std::span<const double>, std::span<const double>,
                                 const KeyRanges&, double, Matrix<double>, Matrix<double>, Matrix<double>,
                                 TileSize);

}  // namespace ringcraft
