// BL7: the sum of one row is still there when the next one begins.
// Fails: every-key "out, position 1"
// Hint: Which variables belong to one row, or to one tile of rows?
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ringcraft/attention/dense.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  std::vector<T> weights(static_cast<std::size_t>(k.rows));
  T sum = 0;
  for (Index i = 0; i < q.rows; ++i) {
    const Index first = ranges.begin[static_cast<std::size_t>(i)],
                last = ranges.end[static_cast<std::size_t>(i)];
    std::fill(weights.begin(), weights.end(), T(0));
    T max = -std::numeric_limits<T>::infinity();
    for (Index j = first; j < last; ++j) {
      T score = 0;
      for (Index c = 0; c < q.cols; ++c) score += q(i, c) * k(j, c);
      weights[static_cast<std::size_t>(j)] = score * softmax_scale;
      max = std::max(max, score);
    }
    for (Index j = first; j < last; ++j) {
      T& weight = weights[static_cast<std::size_t>(j)];
      weight = std::exp(weight - max);
      sum += weight;
    }
    for (Index c = 0; c < out.cols; ++c) out(i, c) = 0;
    for (Index j = first; j < last; ++j)
      for (Index c = 0; c < out.cols; ++c) out(i, c) += weights[static_cast<std::size_t>(j)] / sum * v(j, c);
    lse[static_cast<std::size_t>(i)] = max + std::log(sum);
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
