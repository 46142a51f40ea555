// Lesson 101: attention with the whole score matrix in memory (see dense.hpp). Its gradients are in
// dense_backward.cpp.
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
  // BEGIN SOLUTION 101 [dense_forward]
  Buffer memory({1, 1, q.rows, k.rows}, dtype_of<T>());  // a Buffer: the memory wall is on the meter
  const Matrix<T> weights = head_of<T>(memory, 0, 0);
  multiply_transposed<T>(q, k, softmax_scale, weights);  // scores, which become weights row by row
  for (Index i = 0; i < q.rows; ++i) {
    const auto a = static_cast<std::size_t>(i);
    const std::span<T> row = weights.row(i);
    const int first = ranges.begin[a], last = ranges.end[a];
    const auto seen = row.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    const auto [m, l] = online_scan<T>(seen);
    lse[a] = m + std::log(l);  // -inf without a key
    safe_softmax<T>(seen, seen);
    std::fill(row.begin(), row.begin() + first, T(0));
    std::fill(row.begin() + last, row.end(), T(0));
  }
  std::fill(out.data.begin(), out.data.end(), T(0));
  multiply_add<T>(weights, v, T(1), out);
  // END SOLUTION [dense_forward]
}

template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                            float, Matrix<float>, std::span<float>);
template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                            const KeyRanges&, double, Matrix<double>, std::span<double>);

}  // namespace ringcraft
