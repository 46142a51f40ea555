// Equivalent: sums from zero always, and adds what c held at the end.
#include <utility>

#include "ringcraft/attention/fast/register_kernel.hpp"
#include "ringcraft/attention/fast/vector.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// c(n, .) = (0 or c(n, .)) + sum over k of panel(k, .) * b(k, n) for kColumns columns n, kWide registers
// wide. panel, b and c point to their first elements here; row k of the panel lies at panel + k * panel_step,
// element (k, n) of b at b + k * b_row + n * b_col, row n of c at c + n * c_step. depth is at least 1.
template <class T, int kWide, int kColumns>
void multiply_tile(const T* panel, Index panel_step, const T* b, Index b_row, Index b_col, Index depth,
                   Start start, T* c, Index c_step) {
  Vector<T> sum[kColumns][kWide];  // every index below is a constant once unrolled: these are registers
#pragma GCC unroll 8
  for (int n = 0; n < kColumns; ++n)
#pragma GCC unroll 8
    for (int w = 0; w < kWide; ++w) sum[n][w] = Vector<T>{};
  do {
    Vector<T> a[kWide];
#pragma GCC unroll 8
    for (int w = 0; w < kWide; ++w) a[w] = load(panel + w * kLanes<T>);
#pragma GCC unroll 8
    for (int n = 0; n < kColumns; ++n)
#pragma GCC unroll 8
      for (int w = 0; w < kWide; ++w) sum[n][w] += a[w] * b[n * b_col];
    panel += panel_step;
    b += b_row;
  } while (--depth > 0);
#pragma GCC unroll 8
  for (int n = 0; n < kColumns; ++n)
#pragma GCC unroll 8
    for (int w = 0; w < kWide; ++w) {
      T* place = c + n * c_step + w * kLanes<T>;
      store(place, start == Start::kKeep ? load(place) + sum[n][w] : sum[n][w]);
    }
}

// The part of c from row n and column w on that is one tile.
template <class T, int kWide, int kColumns>
void multiply_at(Matrix<const T> panel, Strided<const T> b, Start start, Strided<T> c, Index n, Index w) {
  multiply_tile<T, kWide, kColumns>(panel.data.data() + w, panel.cols, b.at(0, n), b.row_step, b.col_step,
                                    b.rows, start, c.at(n, w), c.row_step);
}

// Calls body with every constant from 1 to kLimit - 1 that equals `value`: with one, or with none.
template <int kLimit, class Body>
void with_constant(Index value, Body body) {
  [&]<int... kMinusOne>(std::integer_sequence<int, kMinusOne...>) {
    ((value == kMinusOne + 1 ? body(std::integral_constant<int, kMinusOne + 1>()) : void()), ...);
  }
  (std::make_integer_sequence<int, kLimit - 1>());
}

// A strip of c, kWide registers wide: full tiles, and one of fewer columns at the end.
template <class T, int kWide>
void multiply_strip(Matrix<const T> panel, Strided<const T> b, Start start, Strided<T> c, Index w) {
  Index n = 0;
  for (; n + kTileColumns <= c.rows; n += kTileColumns)
    multiply_at<T, kWide, kTileColumns>(panel, b, start, c, n, w);
  with_constant<kTileColumns>(
      c.rows - n, [&](auto columns) { multiply_at<T, kWide, columns>(panel, b, start, c, n, w); });
}

}  // namespace

template <class T>
void multiply_panel(Matrix<const T> panel, Strided<const T> b, Start start, Strided<T> c) {
  Index w = 0;
  for (; w + kPanelWidth<T> <= c.cols; w += kPanelWidth<T>)
    multiply_strip<T, kTileWide>(panel, b, start, c, w);
  with_constant<kTileWide>((c.cols - w) / kLanes<T>,
                           [&](auto wide) { multiply_strip<T, wide>(panel, b, start, c, w); });
}

template void multiply_panel(Matrix<const float>, Strided<const float>, Start, Strided<float>);
template void multiply_panel(Matrix<const double>, Strided<const double>, Start, Strided<double>);

}  // namespace ringcraft
