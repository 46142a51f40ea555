// Mistake: The weights of a row are divided by their sum within the tile instead of being left as exp(score - lse), so they add up to 1 in every tile.
// Lesson 106: the gradients of attention tile by tile (see blockwise.hpp). Nothing of size rows x keys was
// kept by the forward pass: the weights of a tile are computed again, from the saved lse of the whole row.
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
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    const Matrix<T> weights = first_memory.fit(t), dscores = second_memory.fit(t);
    const Matrix<const T> q_t = q.slice(t.row0, t.rows()), dout_t = dout.slice(t.row0, t.rows());
    const Matrix<const T> k_t = k.slice(t.key0, t.keys()), v_t = v.slice(t.key0, t.keys());
    multiply_transposed<T>(q_t, k_t, softmax_scale, weights);
    multiply_transposed<T>(dout_t, v_t, T(1), dscores);
    for (Index i = 0; i < t.rows(); ++i) {
      const auto a = static_cast<std::size_t>(t.row0 + i);
      const std::span<T> seen = visible_scores(weights, t, ranges, i);
      if (!seen.empty()) {
        const T sum = exponentials<T>(seen, lse[a]);
        for (T& p : seen) p /= sum;
      }
      for (Index j = 0; j < t.keys(); ++j) dscores(i, j) = weights(i, j) * (dscores(i, j) - delta[a]);
    }
    transposed_multiply_add<T>(weights, dout_t, T(1), dv.slice(t.key0, t.keys()));
    multiply_add<T>(dscores, k_t, softmax_scale, dq.slice(t.row0, t.rows()));
    transposed_multiply_add<T>(dscores, q_t, softmax_scale, dk.slice(t.key0, t.keys()));
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
