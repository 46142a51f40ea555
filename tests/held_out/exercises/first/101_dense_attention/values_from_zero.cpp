// Mistake: The weights of a row are multiplied with the values from key 0 on instead of from begin[row] on.
// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
#include <limits>
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
  const auto u = [](auto x) { return static_cast<std::size_t>(x); };
  std::vector<T> w;  // the weights of one row, only of the keys that it sees
  for (Index a = 0; a < q.rows; ++a) {
    const int from = ranges.begin[u(a)];
    const int n = ranges.end[u(a)] - from;
    std::ranges::fill(out.row(a), T(0));
    lse[u(a)] = -std::numeric_limits<T>::infinity();
    if (n <= 0) continue;
    w.assign(u(n), T(0));
    for (int b = 0; b < n; ++b) {
      for (Index c = 0; c < q.cols; ++c) w[u(b)] += q(a, c) * k(from + b, c);
      w[u(b)] *= softmax_scale;
    }
    const T top = *std::ranges::max_element(w);
    T total = 0;
    for (T& x : w) {
      x = std::exp(x - top);
      total += x;
    }
    for (int b = 0; b < n; ++b)
      for (Index c = 0; c < out.cols; ++c) out(a, c) += w[u(b)] / total * v(b, c);
    lse[u(a)] = top + std::log(total);
  }
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
