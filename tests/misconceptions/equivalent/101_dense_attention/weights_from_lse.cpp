// Equivalent: lse first, from the scan that is given; then each weight from its score and lse.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/dense.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  Buffer memory({1, 1, q.rows, k.rows}, dtype_of<T>());
  const Matrix<T> scores = head_of<T>(memory, 0, 0);
  multiply_transposed<T>(q, k, softmax_scale, scores);
  std::fill(out.data.begin(), out.data.end(), T(0));
  for (Index i = 0; i < q.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const auto first = static_cast<std::size_t>(ranges.begin[row]),
               last = static_cast<std::size_t>(ranges.end[row]);
    const SoftmaxState<T> state = online_scan<T>(scores.row(i).subspan(first, last - first));
    lse[row] = state.max + std::log(state.sum);
    for (std::size_t j = first; j < last; ++j)
      for (Index c = 0; c < out.cols; ++c)
        out(i, c) += std::exp(scores.row(i)[j] - lse[row]) * v(static_cast<Index>(j), c);
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
