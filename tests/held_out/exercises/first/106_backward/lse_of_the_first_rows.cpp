// Mistake: lse is read at the number of the row within its tile instead of within the head; delta is read at the right place.
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
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> p = visible_scores(weights, t, ranges, i);
      const T log_sum = lse[std::size_t(i)];
      for (T& x : p) x = std::exp(x - log_sum);
    }
    transposed_multiply_add<T>(weights, dout.slice(t.row0, t.rows()), T(1), dv.slice(t.key0, t.keys()));

    multiply_transposed<T>(dout.slice(t.row0, t.rows()), v.slice(t.key0, t.keys()), T(1), dscores);
    const std::span<const T> deltas = delta.subspan(std::size_t(t.row0), std::size_t(t.rows()));
    for (Index i = 0; i < t.rows(); ++i)
      for (Index j = 0; j < t.keys(); ++j) {
        const T p = weights(i, j);
        dscores(i, j) = p == T(0) ? T(0) : softmax_scale * p * (dscores(i, j) - deltas[std::size_t(i)]);
      }
    multiply_add<T>(dscores, k.slice(t.key0, t.keys()), T(1), dq.slice(t.row0, t.rows()));
    transposed_multiply_add<T>(dscores, q.slice(t.row0, t.rows()), T(1), dk.slice(t.key0, t.keys()));
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
