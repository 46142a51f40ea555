#pragma once
/// @file
/// Matrix<T>, a view of one head: rows (tokens) by columns (head_dim), row-major, without ownership. All
/// numerics of the library work on such views, so an exercise never meets a batch or a head loop that it did
/// not ask for.

#include <span>
#include <type_traits>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// A contiguous row-major view of rows x cols numbers. Copying it copies the view.
template <class T>
struct Matrix {
  std::span<T> data;  ///< rows * cols elements
  Index rows = 0;     ///< tokens
  Index cols = 0;     ///< head_dim

  /// Element in row i, column j.
  T& operator()(Index i, Index j) const { return data[static_cast<std::size_t>(i * cols + j)]; }
  /// Row i as a span of cols numbers.
  std::span<T> row(Index i) const {
    return data.subspan(static_cast<std::size_t>(i * cols), static_cast<std::size_t>(cols));
  }
  /// The rows [first, first + count).
  Matrix slice(Index first, Index count) const {
    return {data.subspan(static_cast<std::size_t>(first * cols), static_cast<std::size_t>(count * cols)),
            count, cols};
  }
  /// A mutable view may be read through a constant one.
  operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, cols}; }
};

/// The rows x width matrix of one (batch, head) of a host buffer.
template <class T>
Matrix<T> head_of(Buffer& buffer, Index batch, Index head) {
  const Extents& e = buffer.extents();
  return Matrix<T>{buffer.values<T>(), e.batch * e.heads * e.rows, e.width}.slice(
      (batch * e.heads + head) * e.rows, e.rows);
}

/// The same, read-only.
template <class T>
Matrix<const T> head_of(const Buffer& buffer, Index batch, Index head) {
  const Extents& e = buffer.extents();
  return Matrix<const T>{buffer.values<T>(), e.batch * e.heads * e.rows, e.width}.slice(
      (batch * e.heads + head) * e.rows, e.rows);
}

}  // namespace ringcraft
