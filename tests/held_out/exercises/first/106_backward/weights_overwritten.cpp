// Mistake: dS is written over P before dv is computed, so dv gets dSᵀ dout instead of Pᵀ dout.
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
    const auto q_t = q.slice(t.row0, t.rows()), dout_t = dout.slice(t.row0, t.rows());
    const auto k_t = k.slice(t.key0, t.keys()), v_t = v.slice(t.key0, t.keys());
    multiply_transposed<T>(q_t, k_t, softmax_scale, weights);
    multiply_transposed<T>(dout_t, v_t, T(1), dscores);
    for (Index i = 0; i < t.rows(); i++) {
      const std::size_t row = static_cast<std::size_t>(t.row0 + i);
      auto seen = visible_scores(weights, t, ranges, i);
      if (!seen.empty()) exponentials(seen, lse[row]);
      for (Index j = 0; j < t.keys(); j++)
        weights(i, j) = weights(i, j) * (dscores(i, j) - delta[row]);
    }
    multiply_add<T>(weights, k_t, softmax_scale, dq.slice(t.row0, t.rows()));
    transposed_multiply_add<T>(weights, q_t, softmax_scale, dk.slice(t.key0, t.keys()));
    transposed_multiply_add<T>(weights, dout_t, T(1), dv.slice(t.key0, t.keys()));
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
