// Mistake: The weights of the visible keys begin[i], begin[i] + 1, ... are multiplied with the rows 0, 1, ... of v instead of with the rows begin[i], begin[i] + 1, ...; so out is wrong in every row whose range does not begin at key 0 (lse is right).
// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
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
  Buffer scores({1, 1, q.rows, k.rows}, dtype_of<T>());
  const Matrix<T> s = head_of<T>(scores, 0, 0);
  multiply_transposed<T>(q, k, softmax_scale, s);
  for (Index i = 0; i < q.rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto begin = static_cast<std::size_t>(ranges.begin[at]);
    const auto count = static_cast<std::size_t>(ranges.end[at]) - begin;
    const std::span<T> visible = s.row(i).subspan(begin, count);

    const SoftmaxState<T> state = online_scan<T>(visible);
    lse[at] = state.max + std::log(state.sum);
    safe_softmax<T>(visible, visible);

    const std::span<T> mean = out.row(i);
    for (Index c = 0; c < out.cols; ++c) {
      T sum = 0;
      for (std::size_t j = 0; j < count; ++j) sum += visible[j] * v(static_cast<Index>(j), c);
      mean[static_cast<std::size_t>(c)] = sum;
    }
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
