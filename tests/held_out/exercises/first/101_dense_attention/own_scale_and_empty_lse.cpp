// Mistake: The scores are multiplied by 1/sqrt(head_dim) instead of by the softmax_scale that is passed in.
// Also: A row without a visible key gets lse = 0 instead of -inf.
// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
#include <limits>
#include "ringcraft/attention/dense.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  Buffer memory({1, 1, q.rows, k.rows}, dtype_of<T>());
  Matrix<T> S = head_of<T>(memory, 0, 0);
  const T scale = T(1) / std::sqrt(static_cast<T>(q.cols));
  (void)softmax_scale;
  multiply_transposed<T>(q, k, scale, S);
  for (Index i = 0; i < S.rows; ++i) {
    const std::size_t r = std::size_t(i);
    const auto b = std::size_t(ranges.begin[r]), e = std::size_t(ranges.end[r]);
    const std::span<T> all = S.row(i);
    const std::size_t n = e > b ? e - b : 0;
    const std::span<T> seen = all.subspan(n ? b : 0, n);
    const SoftmaxState<T> state = online_scan<T>(seen);
    lse[r] = state.sum > T(0) ? state.max + std::log(state.sum) : T(0);
    safe_softmax<T>(seen, seen);
    for (std::size_t j = 0; j < all.size(); ++j)
      if (n == 0 || j < b || j >= e) all[j] = T(0);
  }
  std::fill(out.data.begin(), out.data.end(), T(0));
  multiply_add<T>(S, v, T(1), out);
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
