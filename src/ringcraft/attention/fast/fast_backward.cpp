// Lesson 108: blockwise attention backward on the register kernel (see fast_blockwise.hpp). Key blocks are
// outside, query blocks inside: dk and dv of a block are finished when it is left, dq grows from block to
// block.
#include <cmath>

#include "ringcraft/attention/fast/fast_blockwise.hpp"
#include "ringcraft/attention/fast/fast_exponentials.hpp"
#include "ringcraft/attention/fast/fast_kernels_detail.hpp"

namespace ringcraft {
namespace {

constexpr Index kBackwardRows = 96;

// dS = P * (dP - delta) in place
template <class T>
void to_dscores(std::span<const T> weights, T delta, std::span<T> products) {
  for (std::size_t j = 0; j < products.size(); ++j) products[j] = weights[j] * (products[j] - delta);
}

}  // namespace

template <class T>
void QueryPanels<T>::take(Matrix<const T> queries, Matrix<const T> upstream, std::span<const T> row_lse,
                          std::span<const T> row_delta) {
  q = queries;
  dout = upstream;
  lse = row_lse;
  delta = row_delta;
  q_panels.take(q);
  dout_panels.take(dout);
}

template <class T>
void FastBackward<T>::add(const QueryPanels<T>& queries, Matrix<const T> k, Matrix<const T> v,
                          const KeyRanges& ranges, Index first, T softmax_scale, Matrix<T> dq, Matrix<T> dk,
                          Matrix<T> dv) {
  const Index last = first + k.rows;
  // the rows that see a key of the block
  const Index row0 = std::ranges::upper_bound(ranges.end, first) - ranges.end.begin(),
              row1 = std::ranges::lower_bound(ranges.begin, last) - ranges.begin.begin();
  if (row0 >= row1) return;
  keys_.take(k);
  keys_transposed_.take_transposed(k, softmax_scale);
  values_transposed_.take_transposed(v, 1);
  const Index cols = keys_.padded_cols();
  dk_.assign(static_cast<std::size_t>(k.rows * cols), T(0));
  dv_.assign(static_cast<std::size_t>(k.rows * cols), T(0));
  for (Index row = row0; row < row1; row += kBackwardRows) {
    const Index end = std::min(row + kBackwardRows, row1);
    const fast_detail::Tile tile{
        row, end, std::max(fast_detail::panel_floor<T>(ranges.begin[static_cast<std::size_t>(row)]), first),
        std::min<Index>(ranges.end[static_cast<std::size_t>(end - 1)], last)};
    if (tile.visible(ranges)) add_tile(tile, first, queries, ranges, dq);
  }
  fast_detail::add_scaled<T>(dk, softmax_scale, {dk_, k.rows, cols});
  fast_detail::add_scaled<T>(dv, T(1), {dv_, k.rows, cols});
}

template <class T>
void FastBackward<T>::add_tile(const fast_detail::Tile& tile, Index first, const QueryPanels<T>& queries,
                               const KeyRanges& ranges, Matrix<T> dq) {
  const Index key = tile.key0 - first, cols = dq.cols;
  const Strided<T> weights = weights_.of(tile), dscores = dscores_.of(tile);
  const Strided<T> dk{dk_, 0, cols, cols, 1}, dv{dv_, 0, cols, cols, 1};
  fast_detail::multiply_into<T>(weights, queries.q.slice(tile.row0, tile.rows()), keys_transposed_, key);
  fast_detail::multiply_into<T>(dscores, queries.dout.slice(tile.row0, tile.rows()), values_transposed_, key);
  for (Index i = 0; i < tile.rows(); ++i) {
    const auto a = static_cast<std::size_t>(tile.row0 + i);
    const fast_detail::Visible visible = fast_detail::visible(tile, ranges, i);
    const std::span<T> row = fast_detail::cleared_around(weights, visible, i),
                       products = fast_detail::cleared_around(dscores, visible, i);
    if (row.empty()) continue;
    fast_exponentials(row, queries.lse[a]);  // P = exp(S - lse)
    to_dscores<T>(row, queries.delta[a], products);
  }
  fast_detail::multiply_add<T>(dv.block(key, tile.keys(), 0, cols), weights.transposed(), queries.dout_panels,
                               tile.row0);
  fast_detail::multiply_add<T>(dk.block(key, tile.keys(), 0, cols), dscores.transposed(), queries.q_panels,
                               tile.row0);
  fast_detail::multiply_add<T>(strided(dq.slice(tile.row0, tile.rows())), dscores, keys_, key);
}

template <class T>
void fast_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                   std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges, T softmax_scale,
                   Matrix<T> dq, Matrix<T> dk, Matrix<T> dv) {
  QueryPanels<T> queries;
  queries.take(q, dout, lse, delta);
  FastBackward<T> backward;
  const Index cols = queries.q_panels.padded_cols();
  Scratch<T> share(static_cast<std::size_t>(q.rows * cols));
  for (Index key = 0; key < k.rows; key += kBackwardKeys<T>) {
    const Index keys = std::min(kBackwardKeys<T>, k.rows - key);
    backward.add(queries, k.slice(key, keys), v.slice(key, keys), ranges, key, softmax_scale,
                 {share, q.rows, cols}, dk.slice(key, keys), dv.slice(key, keys));
  }
  fast_detail::add_scaled<T>(dq, softmax_scale, {share, q.rows, cols});
}

#define RINGCRAFT_INSTANTIATE(T)                                                                      \
  template struct QueryPanels<T>;                                                                     \
  template class FastBackward<T>;                                                                     \
  template void fast_backward(Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<const T>,     \
                              std::span<const T>, std::span<const T>, const KeyRanges&, T, Matrix<T>, \
                              Matrix<T>, Matrix<T>)
RINGCRAFT_INSTANTIATE(float);
RINGCRAFT_INSTANTIATE(double);
#undef RINGCRAFT_INSTANTIATE

}  // namespace ringcraft
