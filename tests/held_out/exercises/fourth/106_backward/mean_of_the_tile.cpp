// Mistake: Instead of the given delta of the whole row, dS = P * (dP - delta) uses the sum of P * dP over the keys of the present tile alone; dq and dk are wrong as soon as a row's keys lie in more than one tile or block (dv is right).
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
    const auto q_rows = q.slice(t.row0, t.rows()), dout_rows = dout.slice(t.row0, t.rows());
    const auto k_rows = k.slice(t.key0, t.keys()), v_rows = v.slice(t.key0, t.keys());
    multiply_transposed<T>(q_rows, k_rows, softmax_scale, weights);
    multiply_transposed<T>(dout_rows, v_rows, T(1), dscores);
    for (Index i = 0; i < t.rows(); ++i) {
      const std::size_t a = static_cast<std::size_t>(t.row0 + i);
      const std::span<T> seen = visible_scores(weights, t, ranges, i);
      if (!seen.empty()) exponentials(seen, lse[a]);
      T mean = seen.empty() ? delta[a] : T(0);
      for (Index j = 0; j < t.keys(); ++j) mean += weights(i, j) * dscores(i, j);
      for (Index j = 0; j < t.keys(); ++j)
        dscores(i, j) = weights(i, j) == T(0) ? T(0) : weights(i, j) * (dscores(i, j) - mean);
    }
    transposed_multiply_add<T>(weights, dout_rows, T(1), dv.slice(t.key0, t.keys()));
    transposed_multiply_add<T>(dscores, q_rows, softmax_scale, dk.slice(t.key0, t.keys()));
    multiply_add<T>(dscores, k_rows, softmax_scale, dq.slice(t.row0, t.rows()));
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
