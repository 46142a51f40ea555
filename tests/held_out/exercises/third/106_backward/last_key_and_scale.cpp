// Mistake: two mistakes: within a tile the visible keys end at min(end, t.key1 - 1) instead of min(end, t.key1), so the last key of a tile is never seen by anyone and all three gradients miss its share; and dk is not multiplied by softmax_scale.
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
    multiply_transposed<T>(dout.slice(t.row0, t.rows()), v.slice(t.key0, t.keys()), T(1), dscores);
    for (Index i = 0; i < t.rows(); ++i) {
      const Index row = t.row0 + i;
      const auto a = static_cast<std::size_t>(row);
      const Index first = std::max<Index>(ranges.begin[a], t.key0);
      const Index last = std::min<Index>(ranges.end[a], t.key1 - 1);
      for (Index key = t.key0; key < t.key1; ++key) {
        const Index j = key - t.key0;
        if (key < first || key >= last) {
          weights(i, j) = 0;
          dscores(i, j) = 0;
          continue;
        }
        weights(i, j) = std::exp(weights(i, j) - lse[a]);
        dscores(i, j) = weights(i, j) * (dscores(i, j) - delta[a]);
      }
    }
    transposed_multiply_add<T>(weights, dout.slice(t.row0, t.rows()), T(1), dv.slice(t.key0, t.keys()));
    transposed_multiply_add<T>(dscores, q.slice(t.row0, t.rows()), T(1), dk.slice(t.key0, t.keys()));
    multiply_add<T>(dscores, k.slice(t.key0, t.keys()), softmax_scale, dq.slice(t.row0, t.rows()));
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
