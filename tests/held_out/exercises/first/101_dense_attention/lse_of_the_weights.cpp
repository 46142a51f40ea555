// Mistake: lse is scanned from the row after its scores have been overwritten with the weights, so it is the lse of the weights instead of that of the scores.
// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
#include "ringcraft/attention/dense.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  Buffer memory({1, 1, q.rows, k.rows}, dtype_of<T>());
  const Matrix<T> p = head_of<T>(memory, 0, 0);
  multiply_transposed<T>(q, k, softmax_scale, p);

  for (Index i = 0; i < q.rows; ++i) {
    const auto n = static_cast<std::size_t>(i);
    const auto first = static_cast<std::size_t>(ranges.begin[n]);
    const auto last = static_cast<std::size_t>(std::max(ranges.begin[n], ranges.end[n]));
    const std::span<T> all = p.row(i);
    const std::span<T> seen = all.subspan(first, last - first);
    safe_softmax<T>(seen, seen);
    const SoftmaxState<T> state = online_scan<T>(seen);
    lse[n] = state.max + std::log(state.sum);
    std::fill(all.begin(), seen.begin(), T(0));
    std::fill(seen.end(), all.end(), T(0));
  }

  std::fill(out.data.begin(), out.data.end(), T(0));
  multiply_add<T>(p, v, T(1), out);
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
