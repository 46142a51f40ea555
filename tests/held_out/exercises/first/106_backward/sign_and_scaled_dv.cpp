// Mistake: dS is P * (delta - dP) instead of P * (dP - delta), so dq and dk have the wrong sign.
// Also: dv is multiplied by softmax_scale, which it must not contain.
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
    const Matrix<T> p = first_memory.fit(t), ds = second_memory.fit(t);
    const auto rows_of = [&](auto m) { return m.slice(t.row0, t.rows()); };
    const auto keys_of = [&](auto m) { return m.slice(t.key0, t.keys()); };
    multiply_transposed<T>(rows_of(q), keys_of(k), softmax_scale, p);
    multiply_transposed<T>(rows_of(dout), keys_of(v), T(1), ds);
    for (Index i = 0; i < t.rows(); ++i) {
      const auto a = static_cast<std::size_t>(t.row0 + i);
      for (T& x : visible_scores(p, t, ranges, i)) x = std::exp(x - lse[a]);
      for (Index j = 0; j < t.keys(); ++j) ds(i, j) = (delta[a] - ds(i, j)) * p(i, j);
    }
    multiply_add<T>(ds, keys_of(k), softmax_scale, rows_of(dq));
    transposed_multiply_add<T>(ds, rows_of(q), softmax_scale, keys_of(dk));
    transposed_multiply_add<T>(p, rows_of(dout), softmax_scale, keys_of(dv));
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
