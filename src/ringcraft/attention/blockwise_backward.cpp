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
    // BEGIN SOLUTION 106 [blockwise_backward]
    const auto q_tile = q.slice(t.row0, t.rows()), dout_tile = dout.slice(t.row0, t.rows());
    const auto k_tile = k.slice(t.key0, t.keys()), v_tile = v.slice(t.key0, t.keys());
    multiply_transposed<T>(q_tile, k_tile, softmax_scale, weights);
    multiply_transposed<T>(dout_tile, v_tile, T(1), dscores);
    for (Index i = 0; i < t.rows(); ++i) {
      const auto a = static_cast<std::size_t>(t.row0 + i);
      const std::span<T> row = visible_scores(weights, t, ranges, i), drow = dscores.row(i);
      if (!row.empty())
        exponentials(row, lse[a]);  // P = exp(S - lse): the weights of the whole row, not of the tile
      for (std::size_t j = 0; j < drow.size(); ++j)
        drow[j] = weights(i, static_cast<Index>(j)) * (drow[j] - delta[a]);
    }
    transposed_multiply_add<T>(weights, dout_tile, T(1), dv.slice(t.key0, t.keys()));
    multiply_add<T>(dscores, k_tile, softmax_scale, dq.slice(t.row0, t.rows()));
    transposed_multiply_add<T>(dscores, q_tile, softmax_scale, dk.slice(t.key0, t.keys()));
    // END SOLUTION [blockwise_backward]
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
