// The gradients of dense attention (see dense.hpp): the weights are computed again from the scores and the
// saved lse, and two matrices of all (query, key) pairs are in memory at once.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/dense.hpp"
#include "ringcraft/attention/products.hpp"

namespace ringcraft {
namespace {

// factor * a bᵀ, [rows, keys]: a Buffer, so that the memory wall is on the meter
template <class T>
Buffer all_pairs(Matrix<const T> a, Matrix<const T> b, T factor) {
  Buffer pairs({1, 1, a.rows, b.rows}, dtype_of<T>());
  multiply_transposed<T>(a, b, factor, head_of<T>(pairs, 0, 0));
  return pairs;
}

// A row of scores becomes a row of weights, exp(score - lse); what the query does not see has weight 0.
template <class T>
void weigh(std::span<T> row, int first, int last, T lse) {
  for (int j = first; j < last; ++j) {
    T& s = row[static_cast<std::size_t>(j)];
    s = std::exp(s - lse);
  }
  std::fill(row.begin(), row.begin() + first, T(0));
  std::fill(row.begin() + last, row.end(), T(0));
}

}  // namespace

template <class T>
void dense_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                    std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                    T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv) {
  Buffer scores = all_pairs(q, k, softmax_scale), products = all_pairs(dout, v, T(1));
  const Matrix<T> weights = head_of<T>(scores, 0, 0), dscores = head_of<T>(products, 0, 0);
  for (Index i = 0; i < q.rows; ++i) {
    const auto a = static_cast<std::size_t>(i);
    weigh(weights.row(i), ranges.begin[a], ranges.end[a], lse[a]);
    for (Index j = 0; j < k.rows; ++j) dscores(i, j) = weights(i, j) * (dscores(i, j) - delta[a]);
  }
  transposed_multiply_add<T>(weights, dout, T(1), dv);
  multiply_add<T>(dscores, k, softmax_scale, dq);
  transposed_multiply_add<T>(dscores, q, softmax_scale, dk);
}

#define RINGCRAFT_INSTANTIATE(T)                                                                       \
  template void dense_backward(Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<const T>,     \
                               std::span<const T>, std::span<const T>, const KeyRanges&, T, Matrix<T>, \
                               Matrix<T>, Matrix<T>)
RINGCRAFT_INSTANTIATE(float);
RINGCRAFT_INSTANTIATE(double);
#undef RINGCRAFT_INSTANTIATE

}  // namespace ringcraft
