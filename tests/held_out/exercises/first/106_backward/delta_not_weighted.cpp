// Mistake: dS is P * dP - delta instead of P * (dP - delta).
// Lesson 106: the gradients of attention tile by tile (see blockwise.hpp). Nothing of size rows x keys was
// kept by the forward pass: the weights of a tile are computed again, from the saved lse of the whole row.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

template <class T>
T dot_product(std::span<const T> x, std::span<const T> y) {
  T sum = T(0);
  for (std::size_t n = 0; n < x.size(); ++n) sum += x[n] * y[n];
  return sum;
}
template <class T>
void axpy(T factor, std::span<const T> x, std::span<T> y) {
  for (std::size_t n = 0; n < x.size(); ++n) y[n] += factor * x[n];
}

}  // namespace

template <class T>
void blockwise_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                        std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                        T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> first_memory(size), second_memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    [[maybe_unused]] const Matrix<T> weights = first_memory.fit(t), dscores = second_memory.fit(t);
    for (Index a = t.row0; a < t.row1; ++a) {
      const auto r = static_cast<std::size_t>(a);
      const Index from = std::max<Index>(ranges.begin[r], t.key0), to = std::min<Index>(ranges.end[r], t.key1);
      for (Index b = from; b < to; ++b) {
        const T p = std::exp(softmax_scale * dot_product<T>(q.row(a), k.row(b)) - lse[r]);
        const T dp = dot_product<T>(dout.row(a), v.row(b));
        const T ds = p * dp - delta[r];
        axpy<T>(p, dout.row(a), dv.row(b));
        axpy<T>(softmax_scale * ds, k.row(b), dq.row(a));
        axpy<T>(softmax_scale * ds, q.row(a), dk.row(b));
      }
    }
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
