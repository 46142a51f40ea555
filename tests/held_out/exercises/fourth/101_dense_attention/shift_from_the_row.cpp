// Mistake: The maximum that is subtracted in softmax is taken over all keys of the row, also those outside of [begin, end), instead of over the visible ones; where a hidden key's score lies far above the visible ones, all their exponentials vanish, so out becomes 0 and lse -inf.
// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
#include "ringcraft/attention/dense.hpp"

#include <algorithm>
#include <cmath>
#include <vector>
#include <limits>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  std::vector<T> score(static_cast<std::size_t>(k.rows));
  for (Index i = 0; i < q.rows; ++i) {
    const std::span<const T> query = q.row(i);
    T top = -std::numeric_limits<T>::infinity();
    for (Index j = 0; j < k.rows; ++j) {
      const std::span<const T> key = k.row(j);
      T dot = 0;
      for (std::size_t c = 0; c < query.size(); ++c) dot += query[c] * key[c];
      score[static_cast<std::size_t>(j)] = softmax_scale * dot;
      top = std::max(top, softmax_scale * dot);
    }
    const Index first = ranges.begin[static_cast<std::size_t>(i)];
    const Index last = ranges.end[static_cast<std::size_t>(i)];
    const std::span<T> result = out.row(i);
    std::fill(result.begin(), result.end(), T(0));
    T total = 0;
    for (Index j = first; j < last; ++j) {
      const T e = std::exp(score[static_cast<std::size_t>(j)] - top);
      total += e;
      const std::span<const T> value = v.row(j);
      for (std::size_t c = 0; c < result.size(); ++c) result[c] += e * value[c];
    }
    if (total > T(0)) {
      for (T& x : result) x /= total;
      lse[static_cast<std::size_t>(i)] = top + std::log(total);
    } else {
      lse[static_cast<std::size_t>(i)] = -std::numeric_limits<T>::infinity();
    }
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
