// Mistake: Two mistakes. lse is the largest visible dot product without softmax_scale plus the logarithm of the sum, instead of softmax_scale times that dot product plus the logarithm; and for a row that sees no key out is not set to 0 but keeps what it held before.
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
  const auto dot = [](std::span<const T> a, std::span<const T> b) {
    T sum = 0;
    for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
    return sum;
  };
  std::vector<T> products;
  for (std::size_t row = 0; row < lse.size(); ++row) {
    const Index i = static_cast<Index>(row);
    const int first = ranges.begin[row], last = ranges.end[row];
    if (first >= last) {
      lse[row] = -std::numeric_limits<T>::infinity();
      continue;
    }
    products.clear();
    for (int j = first; j < last; ++j) products.push_back(dot(q.row(i), k.row(j)));
    T lead = products[0];
    for (const T p : products)
      if (softmax_scale * p > softmax_scale * lead) lead = p;
    T denominator = 0;
    for (T& p : products) {
      p = std::exp(softmax_scale * p - softmax_scale * lead);
      denominator += p;
    }
    lse[row] = lead + std::log(denominator);
    for (Index c = 0; c < out.cols; ++c) {
      T numerator = 0;
      for (int j = first; j < last; ++j) numerator += products[static_cast<std::size_t>(j - first)] * v(j, c);
      out(i, c) = numerator / denominator;
    }
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
