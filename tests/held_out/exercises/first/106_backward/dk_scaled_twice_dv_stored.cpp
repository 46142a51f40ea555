// Mistake: dk is multiplied by softmax_scale twice: dS holds it already, and the product multiplies by it again.
// Also: dv of a tile is stored over what dv held instead of being added to it.
// Lesson 106: the gradients of attention tile by tile (see blockwise.hpp). Nothing of size rows x keys was
// kept by the forward pass: the weights of a tile are computed again, from the saved lse of the whole row.
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void blockwise_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                        std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                        T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> first_memory(size), second_memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    [[maybe_unused]] const Matrix<T> weights = first_memory.fit(t), dscores = second_memory.fit(t);
    const Index rows = t.rows(), keys = t.keys();
    multiply_transposed<T>(q.slice(t.row0, rows), k.slice(t.key0, keys), softmax_scale, weights);
    multiply_transposed<T>(dout.slice(t.row0, rows), v.slice(t.key0, keys), T(1), dscores);
    for (Index i = 0; i < rows; ++i) {
      const auto a = std::size_t(t.row0 + i);
      const auto visible = visible_scores(weights, t, ranges, i);
      if (!visible.empty()) exponentials(visible, lse[a]);
      for (Index j = 0; j < keys; ++j) {
        const T ds = weights(i, j) * (dscores(i, j) - delta[a]);
        dscores(i, j) = softmax_scale * ds;
      }
    }
    for (Index j = 0; j < keys; ++j)
      for (Index c = 0; c < dv.cols; ++c) {
        T sum = 0;
        for (Index i = 0; i < rows; ++i) sum += weights(i, j) * dout(t.row0 + i, c);
        dv(t.key0 + j, c) = sum;
      }
    transposed_multiply_add<T>(dscores, q.slice(t.row0, rows), softmax_scale, dk.slice(t.key0, keys));
    multiply_add<T>(dscores, k.slice(t.key0, keys), T(1), dq.slice(t.row0, rows));
  });
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
