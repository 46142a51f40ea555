// Mistake: The sum of weighted values is not set to zero between rows, so each row of out also holds the sums of all rows before it.
#include <limits>
#include <numeric>
#include <vector>
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
  auto score = [&](Index i, Index j) {
    auto a = q.row(i);
    auto b = k.row(j);
    return softmax_scale * std::inner_product(a.begin(), a.end(), b.begin(), T(0));
  };
  std::vector<T> mean(static_cast<std::size_t>(v.cols), T(0));
  for (Index i = 0; i < q.rows; i++) {
    const auto at = static_cast<std::size_t>(i);
    const Index lo = ranges.begin[at], hi = ranges.end[at];
    auto target = out.row(i);
    if (lo >= hi) {
      std::fill(target.begin(), target.end(), T(0));
      lse[at] = -std::numeric_limits<T>::infinity();
      continue;
    }
    // first pass: maximum
    T biggest = score(i, lo);
    for (Index j = lo + 1; j < hi; j++) biggest = std::max(biggest, score(i, j));
    // second pass: normalizer
    T norm = 0;
    for (Index j = lo; j < hi; j++) norm += std::exp(score(i, j) - biggest);
    // third pass: values

    for (Index j = lo; j < hi; j++) {
      const T p = std::exp(score(i, j) - biggest) / norm;
      for (std::size_t d = 0; d < mean.size(); d++) mean[d] += p * v.row(j)[d];
    }
    std::copy(mean.begin(), mean.end(), target.begin());
    lse[at] = biggest + std::log(norm);
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
