// Mistake: the weight of key begin + n is multiplied with row n of v instead of row begin + n: out reads the values from key 0 on, so rows whose range does not begin at 0 get the wrong values; lse is right.
// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
#include "ringcraft/attention/dense.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  const Index columns = v.cols;
  std::vector<T> scores;
  for (Index i = 0; i < q.rows; ++i) {
    const auto r = static_cast<std::size_t>(i);
    const Index begin = ranges.begin[r], end = ranges.end[r];
    scores.clear();
    for (Index j = begin; j < end; ++j) {
      T dot = 0;
      for (Index d = 0; d < q.cols; ++d) dot += q(i, d) * k(j, d);
      scores.push_back(softmax_scale * dot);
    }
    const SoftmaxState<T> state = online_scan<T>(scores);
    lse[r] = state.max + std::log(state.sum);
    safe_softmax<T>(scores, scores);
    for (Index d = 0; d < columns; ++d) {
      T mean = 0;
      for (std::size_t n = 0; n < scores.size(); ++n) mean += scores[n] * v(static_cast<Index>(n), d);
      out(i, d) = mean;
    }
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
