// Lesson 108: blockwise attention forward on the register kernel.
#include <cmath>

#include "ringcraft/attention/fast/fast_blockwise.hpp"
#include "ringcraft/attention/fast/fast_exponentials.hpp"
#include "ringcraft/attention/fast/fast_kernels_detail.hpp"

namespace ringcraft {
namespace {

// Keys of a tile.
template <class T>
constexpr Index kForwardKeys = 2048 / Index{sizeof(T)};

// The largest number of a row; several maxima side by side, because each step of one waits for the step
// before.
template <class T>
T largest(std::span<const T> row) {
  constexpr std::size_t kChains = 4, kStep = kChains * kLanes<T>;
  T result = row[0];
  std::size_t j = 0;
  if (row.size() >= kStep) {
    Vector<T> max[kChains];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kChains; ++i) max[i] = load(&row[i * kLanes<T>]);
    for (j = kStep; j + kStep <= row.size(); j += kStep)
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kChains; ++i) {
        const Vector<T> x = load(&row[j + i * kLanes<T>]);
        max[i] = max[i] < x ? x : max[i];
      }
    for (std::size_t i = 1; i < kChains; ++i) max[0] = max[0] < max[i] ? max[i] : max[0];
    for (int i = 0; i < kLanes<T>; ++i) result = std::max(result, max[0][i]);
  }
  for (; j < row.size(); ++j) result = std::max(result, row[j]);
  return result;
}

}  // namespace

template <class T>
void KeyPanels<T>::take(Matrix<const T> k, Matrix<const T> v, T softmax_scale) {
  keys.take_transposed(k, softmax_scale);
  values.take(v);
}

template <class T>
void FastForward<T>::add(Matrix<const T> q, const KeyPanels<T>& kv, const KeyRanges& ranges, Index first,
                         Partial<T> acc) {
  const Index last = ranges.end[static_cast<std::size_t>(first + q.rows - 1)];
  // O in whole registers
  const Index cols = kv.values.padded_cols();
  out_.resize(static_cast<std::size_t>(q.rows * cols));
  for (Index i = 0; i < q.rows; ++i)
    std::ranges::copy(acc.out.row(i), &out_[static_cast<std::size_t>(i * cols)]);
  for (Index key0 = fast_detail::panel_floor<T>(ranges.begin[static_cast<std::size_t>(first)]); key0 < last;
       key0 += kForwardKeys<T>) {
    const fast_detail::Tile tile{first, first + q.rows, key0, std::min(key0 + kForwardKeys<T>, last)};
    if (tile.visible(ranges)) add_tile(tile, q, kv, ranges, acc);
  }
  for (Index i = 0; i < q.rows; ++i)
    std::copy_n(&out_[static_cast<std::size_t>(i * cols)], acc.out.cols, acc.out.row(i).begin());
}

template <class T>
void FastForward<T>::add_tile(const fast_detail::Tile& tile, Matrix<const T> q, const KeyPanels<T>& kv,
                              const KeyRanges& ranges, Partial<T> acc) {
  const Index cols = kv.values.padded_cols();
  const Strided<T> out{out_, q.rows, cols, cols, 1}, weights = scores_.of(tile);
  fast_detail::multiply_into<T>(weights, q, kv.keys, tile.key0);
  for (Index i = 0; i < tile.rows(); ++i) {
    const std::span<T> row = fast_detail::cleared_around(weights, fast_detail::visible(tile, ranges, i), i);
    if (row.empty()) continue;
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    if (const T max = std::max(m, largest<T>(row));
        max > m) {  // what was summed so far follows to the new maximum
      const T rescale = std::exp(m - max);
      for (T& x : std::span(out.at(i, 0), static_cast<std::size_t>(cols))) x *= rescale;
      l *= rescale;
      m = max;
    }
    l += fast_exponentials(row, m);
  }
  fast_detail::multiply_add<T>(out, weights, kv.values, tile.key0);
}

template <class T>
void fast_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                  T softmax_scale, Partial<T> acc) {
  KeyPanels<T> kv;
  kv.take(k, v, softmax_scale);
  FastForward<T> forward;
  for (Index row = 0; row < q.rows; row += kForwardRows) {
    const Index rows = std::min(kForwardRows, q.rows - row);
    forward.add(q.slice(row, rows), kv, ranges, row, acc.slice(row, rows));
  }
}

#define RINGCRAFT_INSTANTIATE(T)                                                                     \
  template struct KeyPanels<T>;                                                                      \
  template class FastForward<T>;                                                                     \
  template void fast_forward(Matrix<const T>, Matrix<const T>, Matrix<const T>, const KeyRanges&, T, \
                             Partial<T>)
RINGCRAFT_INSTANTIATE(float);
RINGCRAFT_INSTANTIATE(double);
#undef RINGCRAFT_INSTANTIATE

}  // namespace ringcraft
