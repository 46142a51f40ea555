#pragma once
/// @file
/// The register kernel (lesson 108): the one matrix product of the fast kernels. Attention needs two products
/// forward and five backward; all of them have the form below, with the result held in registers while the
/// sum runs. They differ only in the layout of the second factor's elements, which two strides describe.

#include <span>
#include <tuple>
#include <type_traits>

#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

/// A view of rows x cols numbers, element (i, j) at data[i * row_step + j * col_step]: a part of a matrix, or
/// its transpose, where it lies.
template <class T>
struct Strided {
  std::span<T> data;   ///< from element (0, 0) on
  Index rows = 0;      ///< number of rows
  Index cols = 0;      ///< number of columns
  Index row_step = 0;  ///< elements from a row to the next
  Index col_step = 1;  ///< elements from a column to the next

  /// Address of element (i, j).
  T* at(Index i, Index j) const { return data.data() + i * row_step + j * col_step; }
  /// The same numbers with rows and columns exchanged.
  Strided transposed() const { return {data, cols, rows, col_step, row_step}; }
  /// The rows [row, row + row_count) of the columns [col, col + col_count).
  Strided block(Index row, Index row_count, Index col, Index col_count) const {
    return {data.subspan(static_cast<std::size_t>(row * row_step + col * col_step)), row_count, col_count,
            row_step, col_step};
  }
  /// A mutable view may be read through a constant one.
  operator Strided<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, row_step, col_step};
  }
  static auto fields(auto& self) {
    return std::tie(self.data, self.rows, self.cols, self.row_step, self.col_step);
  }
};

/// A whole matrix.
template <class T>
Strided<T> strided(Matrix<T> m) {
  return {m.data, m.rows, m.cols, m.cols, 1};
}

/// How a product treats the numbers that c holds.
enum class Start : std::uint8_t {
  kZero,  ///< forgets them
  kKeep,  ///< adds to them
};

/// c(n, w) = (0 or c(n, w)) + sum over k of panel(k, w) * b(k, n), summed in the order of k.
/// panel [depth, width], width a multiple of the numbers in a register; b [depth, columns]; c [columns,
/// width] with col_step 1. A panel is contiguous, so that it streams through the cache line by line.
template <class T>
void multiply_panel(Matrix<const T> panel, Strided<const T> b, Start start, Strided<T> c);

}  // namespace ringcraft
