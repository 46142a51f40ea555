// Lesson 101: attention with the whole score matrix in memory (see dense.hpp).
#include "ringcraft/attention/dense.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {
namespace {

// softmax_scale * q kᵀ, [rows, keys]: a Buffer, so that the memory wall is on the meter
template <class T>
Buffer all_scores(Matrix<const T> q, Matrix<const T> k, T softmax_scale) {
  Buffer scores({1, 1, q.rows, k.rows}, dtype_of<T>());
  multiply_transposed<T>(q, k, softmax_scale, head_of<T>(scores, 0, 0));
  return scores;
}

// Splits a row of scores into what the query sees and the rest, which becomes weight 0.
template <class T>
std::span<T> visible(std::span<T> row, const KeyRanges& ranges, Index i) {
  const int first = ranges.begin[static_cast<std::size_t>(i)], last = ranges.end[static_cast<std::size_t>(i)];
  std::fill(row.begin(), row.begin() + first, T(0));
  std::fill(row.begin() + last, row.end(), T(0));
  return row.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
}

}  // namespace

template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse) {
  if (q.rows == 0) return;
  Buffer scores = all_scores(q, k, softmax_scale);
  const Matrix<T> weights = head_of<T>(scores, 0, 0);
  for (Index i = 0; i < q.rows; ++i) {
    const auto row = visible(weights.row(i), ranges, i);
    const auto [max, sum] = online_scan<T>(row);
    lse[static_cast<std::size_t>(i)] = max + std::log(sum);  // -inf without a key
    safe_softmax<T>(row, row);
  }
  std::fill(out.data.begin(), out.data.end(), T(0));
  multiply_add<T>(weights, v, T(1), out);
}

template <class T>
void dense_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                    std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                    T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv) {
  if (q.rows == 0) return;
  Buffer scores = all_scores(q, k, softmax_scale), products = all_scores(dout, v, T(1));
  const Matrix<T> weights = head_of<T>(scores, 0, 0), dscores = head_of<T>(products, 0, 0);
  for (Index i = 0; i < q.rows; ++i) {
    for (T& s : visible(weights.row(i), ranges, i)) s = std::exp(s - lse[static_cast<std::size_t>(i)]);
    for (Index j = 0; j < k.rows; ++j)
      dscores(i, j) = weights(i, j) * (dscores(i, j) - delta[static_cast<std::size_t>(i)]);
  }
  transposed_multiply_add<T>(weights, dout, T(1), dv);
  multiply_add<T>(dscores, k, softmax_scale, dq);
  transposed_multiply_add<T>(dscores, q, softmax_scale, dk);
}

#define RINGCRAFT_INSTANTIATE(T)                                                                       \
  template void dense_forward(Matrix<const T>, Matrix<const T>, Matrix<const T>, const KeyRanges&, T,  \
                              Matrix<T>, std::span<T>);                                                \
  template void dense_backward(Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<const T>,     \
                               std::span<const T>, std::span<const T>, const KeyRanges&, T, Matrix<T>, \
                               Matrix<T>, Matrix<T>)
RINGCRAFT_INSTANTIATE(float);
RINGCRAFT_INSTANTIATE(double);
#undef RINGCRAFT_INSTANTIATE

}  // namespace ringcraft
