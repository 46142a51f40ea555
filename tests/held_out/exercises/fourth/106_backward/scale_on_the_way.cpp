// Mistake: dq is multiplied with softmax_scale twice: dS already contains the factor, and the product dS k is scaled with it once more; dk and dv are right.
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
    const Matrix<const T> queries = q.slice(t.row0, t.rows()), upstream = dout.slice(t.row0, t.rows());
    const Matrix<const T> keys = k.slice(t.key0, t.keys()), values = v.slice(t.key0, t.keys());
    multiply_transposed<T>(queries, keys, softmax_scale, weights);
    multiply_transposed<T>(upstream, values, T(1), dscores);
    for (Index i = 0; i < t.rows(); ++i) {
      const auto row = static_cast<std::size_t>(t.row0 + i);
      for (Index j = 0; j < t.keys(); ++j) {
        const Index key = t.key0 + j;
        const bool sees = ranges.begin[row] <= key && key < ranges.end[row];
        const T p = sees ? std::exp(weights(i, j) - lse[row]) : T(0);
        weights(i, j) = p;
        dscores(i, j) = sees ? softmax_scale * p * (dscores(i, j) - delta[row]) : T(0);
      }
    }
    transposed_multiply_add<T>(weights, upstream, T(1), dv.slice(t.key0, t.keys()));
    multiply_add<T>(dscores, keys, softmax_scale, dq.slice(t.row0, t.rows()));
    transposed_multiply_add<T>(dscores, queries, T(1), dk.slice(t.key0, t.keys()));
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
