#pragma once
/// @file
/// Panels (lesson 108): a matrix copied into strips as wide as a tile of the register kernel, each contiguous
/// from row to row. Rows of a strip of the matrix itself are head_dim apart, and where that is a power of two
/// they crowd into a few sets of the cache; rows of a panel follow each other. The last panel is as narrow as
/// whole registers allow, filled up with zeros, so that the kernel never meets a width that is no multiple of
/// them.

#include <span>

#include "ringcraft/attention/fast/register_kernel.hpp"
#include "ringcraft/core/scratch.hpp"

namespace ringcraft {

/// Columns [first, first + width) of a matrix that is cut into panels.
struct PanelRange {
  Index first;  ///< a multiple of the panel width
  Index width;  ///< a multiple of the numbers in a register
};

/// The copy of one matrix. Memory is kept for the next one.
template <class T>
class Panels {
 public:
  /// Takes the columns of m: panel p holds m(k, j), [m.rows, width], j in range(p).
  void take(Matrix<const T> m);
  /// Takes the columns of factor * mᵀ: panel p holds factor * m(j, k), [m.cols, width], j in range(p).
  void take_transposed(Matrix<const T> m, T factor);

  /// Number of panels.
  Index count() const;
  /// Columns of the matrix, filled up to whole registers.
  Index padded_cols() const { return padded_cols_; }
  /// Location of panel p among them.
  PanelRange range(Index p) const;
  /// Rows [first, first + rows) of panel p.
  Matrix<const T> panel(Index p, Index first, Index rows) const;
  /// All rows of panel p.
  Matrix<const T> panel(Index p) const { return panel(p, 0, rows_); }

 private:
  void fit(Index rows, Index cols);
  template <class Element>
  void fill(Index cols, Element element);

  Index rows_ = 0, padded_cols_ = 0;
  Scratch<T> memory_;
};

/// cols, filled up to whole registers of T.
template <class T>
Index padded(Index cols);

}  // namespace ringcraft
