// Mistake: dk is made of dout, softmax_scale * dSᵀ dout, instead of q.
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
    for (Index a = t.row0; a < t.row1; ++a) {
      const auto n = static_cast<std::size_t>(a);
      const Index from = std::max<Index>(t.key0, ranges.begin[n]), to = std::min<Index>(t.key1, ranges.end[n]);
      for (Index b = from; b < to; ++b) {
        T score = 0, dp = 0;
        for (Index d = 0; d < q.cols; ++d) {
          score += q(a, d) * k(b, d);
          dp += dout(a, d) * v(b, d);
        }
        const T p = std::exp(softmax_scale * score - lse[n]);
        const T ds = softmax_scale * p * (dp - delta[n]);
        for (Index d = 0; d < q.cols; ++d) {
          dv(b, d) += p * dout(a, d);
          dk(b, d) += ds * dout(a, d);
          dq(a, d) += ds * k(b, d);
        }
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
