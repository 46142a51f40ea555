// Mistake: The maximum that is subtracted is searched among the scores of all keys instead of those that the row sees, so a row whose visible scores lie far below a hidden one loses all its weights.
// Also: A row without a visible key keeps what out held before instead of getting zeros.
// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
#include <limits>
#include <vector>
#include "ringcraft/attention/dense.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  std::vector<T> score(static_cast<std::size_t>(k.rows));
  for (Index i = 0; i < q.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const Index from = ranges.begin[row], to = ranges.end[row];
    if (from >= to) {
      lse[row] = -std::numeric_limits<T>::infinity();
      continue;
    }

    T peak = -std::numeric_limits<T>::infinity();
    for (Index j = 0; j < k.rows; ++j) {
      T dot = 0;
      for (Index d = 0; d < q.cols; ++d) dot += q(i, d) * k(j, d);
      score[static_cast<std::size_t>(j)] = softmax_scale * dot;
      peak = std::max(peak, score[static_cast<std::size_t>(j)]);
    }

    T total = 0;
    for (Index j = from; j < to; ++j) {
      T& s = score[static_cast<std::size_t>(j)];
      s = std::exp(s - peak);
      total += s;
    }
    lse[row] = peak + std::log(total);

    for (Index d = 0; d < v.cols; ++d) {
      T sum = 0;
      for (Index j = from; j < to; ++j) sum += score[static_cast<std::size_t>(j)] * v(j, d);
      out(i, d) = sum / total;
    }
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
