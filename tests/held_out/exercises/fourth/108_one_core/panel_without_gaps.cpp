// Mistake: From one step to the next the panel is advanced by kWide * kLanes<T>, the width of the tile, instead of by panel_step; wrong wherever a row of the panel is wider than the tile.
// Lesson 108: the matrix product whose sums stay in registers (see register_kernel.hpp). A tile of c is
// loaded once, summed over the whole depth and stored once. With AVX2 it is 2 registers wide and 6 columns
// high: a step of the sum is 2 loads, 6 broadcasts and 12 multiply-adds, and the 12 sums keep two
// multiply-add units busy for 6 cycles, longer than the 4 that each of them takes.
#include "ringcraft/attention/fast/register_kernel.hpp"

#include <utility>

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
  Vector<T> sums[kColumns][kWide] = {};
  if (start == Start::kKeep)
#pragma GCC unroll 8
    for (int n = 0; n < kColumns; ++n)
#pragma GCC unroll 8
      for (int w = 0; w < kWide; ++w) sums[n][w] = load(c + n * c_step + w * kLanes<T>);
  const T* const end = panel + depth * kWide * kLanes<T>;
  static_cast<void>(panel_step);
  for (; panel != end; panel += kWide * kLanes<T>, b += b_row) {
    Vector<T> x[kWide];
#pragma GCC unroll 8
    for (int w = 0; w < kWide; ++w) x[w] = load(panel + w * kLanes<T>);
#pragma GCC unroll 8
    for (int n = 0; n < kColumns; ++n) {
      const T y = b[n * b_col];
#pragma GCC unroll 8
      for (int w = 0; w < kWide; ++w) sums[n][w] += y * x[w];
    }
  }
#pragma GCC unroll 8
  for (int n = 0; n < kColumns; ++n)
#pragma GCC unroll 8
    for (int w = 0; w < kWide; ++w) store(c + n * c_step + w * kLanes<T>, sums[n][w]);
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
