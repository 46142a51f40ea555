// Mistake: two mistakes: each exponential is divided by the sum of the exponentials up to and including this key (the running sum) instead of the sum over all visible keys of the row, so out is wrong wherever a row sees more than one key; and a row without a visible key gets lse = 0 instead of -infinity.
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
  const auto score = [&](Index i, Index j) {
    T dot = 0;
    for (Index d = 0; d < q.cols; ++d) dot += q(i, d) * k(j, d);
    return softmax_scale * dot;
  };
  for (Index i = 0; i < q.rows; ++i) {
    const auto r = static_cast<std::size_t>(i);
    const std::span<T> mean = out.row(i);
    std::fill(mean.begin(), mean.end(), T(0));
    T m = -std::numeric_limits<T>::infinity(), l = 0;
    for (Index j = ranges.begin[r]; j < ranges.end[r]; ++j) m = std::max(m, score(i, j));
    for (Index j = ranges.begin[r]; j < ranges.end[r]; ++j) {
      const T e = std::exp(score(i, j) - m);
      l += e;
      const std::span<const T> value = v.row(j);
      for (std::size_t d = 0; d < mean.size(); ++d) mean[d] += e / l * value[d];
    }
    lse[r] = l > T(0) ? m + std::log(l) : T(0);
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
