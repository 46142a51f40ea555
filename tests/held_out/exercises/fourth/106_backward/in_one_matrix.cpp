// Mistake: dv is computed as the transpose of dS times dout instead of the transpose of P times dout: the weights P have been overwritten by dS before the product for dv; dq and dk are right.
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
    const Matrix<T>& s = weights;
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, s);
    multiply_transposed<T>(dout.slice(t.row0, t.rows()), v.slice(t.key0, t.keys()), T(1), dscores);
    for (Index a = t.row0; a < t.row1; ++a) {
      const auto row = static_cast<std::size_t>(a);
      const Index first = std::max<Index>(ranges.begin[row], t.key0), last = ranges.end[row];
      for (Index b = t.key0; b < t.key1; ++b) {
        T& x = s(a - t.row0, b - t.key0);
        const bool hidden = b < first || b >= last;
        x = hidden ? T(0) : std::exp(x - lse[row]);
        if (!hidden) x *= dscores(a - t.row0, b - t.key0) - delta[row];
      }
    }
    multiply_add<T>(s, k.slice(t.key0, t.keys()), softmax_scale, dq.slice(t.row0, t.rows()));
    transposed_multiply_add<T>(s, q.slice(t.row0, t.rows()), softmax_scale, dk.slice(t.key0, t.keys()));
    transposed_multiply_add<T>(s, dout.slice(t.row0, t.rows()), T(1), dv.slice(t.key0, t.keys()));
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
