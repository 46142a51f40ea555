// Mistake: dS is written over P in the same memory before dv is computed, so dv += dS^T dout instead of P^T dout; dq and dk are right.
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
    const Matrix<const T> q_part = q.slice(t.row0, t.rows()), g_part = dout.slice(t.row0, t.rows());
    const Matrix<const T> k_part = k.slice(t.key0, t.keys()), v_part = v.slice(t.key0, t.keys());
    multiply_transposed<T>(q_part, k_part, softmax_scale, weights);
    multiply_transposed<T>(g_part, v_part, T(1), dscores);
    for (Index i = 0; i < t.rows(); ++i) {
      const auto a = static_cast<std::size_t>(t.row0 + i);
      const std::span<T> seen = visible_scores(weights, t, ranges, i);
      if (seen.empty()) continue;
      exponentials(seen, lse[a]);
      const auto offset = static_cast<std::size_t>(seen.data() - weights.row(i).data());
      const std::span<const T> dp = dscores.row(i).subspan(offset, seen.size());
      for (std::size_t j = 0; j < seen.size(); ++j) seen[j] *= dp[j] - delta[a];
    }
    multiply_add<T>(weights, k_part, softmax_scale, dq.slice(t.row0, t.rows()));
    transposed_multiply_add<T>(weights, q_part, softmax_scale, dk.slice(t.key0, t.keys()));
    transposed_multiply_add<T>(weights, g_part, T(1), dv.slice(t.key0, t.keys()));
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
