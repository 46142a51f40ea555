// SS7: weights of a column add up to 1, not those of a row.
// Fails: mean-of-ones "and must be 1"
// Hint: Sum the weights of one row: what must it be?
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ringcraft/attention/dense.hpp"

namespace ringcraft {

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  std::vector<T> weights(static_cast<std::size_t>(q.rows * k.rows)), sums(static_cast<std::size_t>(k.rows));
  for (Index i = 0; i < q.rows; ++i) {
    T sum = 0;
    for (Index j = ranges.begin[static_cast<std::size_t>(i)]; j < ranges.end[static_cast<std::size_t>(i)];
         ++j) {
      T score = 0;
      for (Index c = 0; c < q.cols; ++c) score += q(i, c) * k(j, c);
      const T weight = std::exp(softmax_scale * score);
      weights[static_cast<std::size_t>(i * k.rows + j)] = weight;
      sums[static_cast<std::size_t>(j)] += weight;
      sum += weight;
    }
    lse[static_cast<std::size_t>(i)] = std::log(sum);
  }
  std::fill(out.data.begin(), out.data.end(), T(0));
  for (Index i = 0; i < q.rows; ++i)
    for (Index j = ranges.begin[static_cast<std::size_t>(i)]; j < ranges.end[static_cast<std::size_t>(i)];
         ++j)
      for (Index c = 0; c < out.cols; ++c)
        out(i, c) +=
            weights[static_cast<std::size_t>(i * k.rows + j)] / sums[static_cast<std::size_t>(j)] * v(j, c);
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
