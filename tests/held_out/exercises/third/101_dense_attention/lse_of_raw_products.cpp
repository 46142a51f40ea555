// Mistake: the maximum that is added back in lse is the raw dot product q.k of the best key, not multiplied by softmax_scale (lse = dot + log(sum) instead of softmax_scale * dot + log(sum)); out is right.
// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
#include "ringcraft/attention/dense.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  Buffer memory({1, 1, q.rows, k.rows}, dtype_of<T>());
  const Matrix<T> dots = head_of<T>(memory, 0, 0);
  multiply_transposed<T>(q, k, T(1), dots);
  for (Index i = 0; i < q.rows; ++i) {
    const auto r = static_cast<std::size_t>(i);
    const Index begin = ranges.begin[r], end = ranges.end[r];
    std::fill(out.row(i).begin(), out.row(i).end(), T(0));
    if (begin == end) {
      lse[r] = -std::numeric_limits<T>::infinity();
      continue;
    }
    Index best = begin;
    for (Index j = begin + 1; j < end; ++j)
      if (softmax_scale * dots(i, j) > softmax_scale * dots(i, best)) best = j;
    const T top = dots(i, best);
    T sum = 0;
    for (Index j = begin; j < end; ++j) {
      const T e = std::exp(softmax_scale * dots(i, j) - softmax_scale * top);
      sum += e;
      for (Index d = 0; d < v.cols; ++d) out(i, d) += e * v(j, d);
    }
    for (T& x : out.row(i)) x /= sum;
    lse[r] = top + std::log(sum);
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
