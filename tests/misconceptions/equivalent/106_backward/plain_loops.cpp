// Equivalent: no tiles and no matrix products, one pair after the other.
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"

namespace ringcraft {
namespace {

template <class T>
T dot(std::span<const T> a, std::span<const T> b) {
  T sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

}  // namespace

template <class T>
void blockwise_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                        std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                        T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv, TileSize) {
  for (Index i = 0; i < q.rows; ++i) {
    const auto a = static_cast<std::size_t>(i);
    for (Index j = ranges.begin[a]; j < ranges.end[a]; ++j) {
      const T p = std::exp(softmax_scale * dot<T>(q.row(i), k.row(j)) - lse[a]);
      const T ds = softmax_scale * p * (dot<T>(dout.row(i), v.row(j)) - delta[a]);
      for (Index c = 0; c < q.cols; ++c) {
        dq(i, c) += ds * k(j, c);
        dk(j, c) += ds * q(i, c);
      }
      for (Index c = 0; c < v.cols; ++c) dv(j, c) += p * dout(i, c);
    }
  }
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
