#pragma once
/// @file
/// Views of the layer's rows, and the factor of its norm; shared by its two passes.

#include <cmath>
#include <vector>

#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

/// All rows of a matrix of this width.
inline Matrix<double> as_rows(std::vector<double>& numbers, Index width) {
  return {numbers, static_cast<Index>(numbers.size()) / width, width};
}
/// The same, read-only.
inline Matrix<const double> as_rows(const std::vector<double>& numbers, Index width) {
  return {numbers, static_cast<Index>(numbers.size()) / width, width};
}

/// The rows of one head, [head_dim, width].
inline Matrix<const double> rows_of_head(const std::vector<double>& weights, Index head, Index head_dim,
                                         Index width) {
  return as_rows(weights, width).slice(head * head_dim, head_dim);
}
/// The same, to be written.
inline Matrix<double> rows_of_head(std::vector<double>& weights, Index head, Index head_dim, Index width) {
  return as_rows(weights, width).slice(head * head_dim, head_dim);
}

/// 1 / sqrt(mean(x²) + 1e-6): the RMS norm of a token is its numbers times this, times the gains.
inline double rms_factor(std::span<const double> numbers) {
  double squares = 0;
  for (const double number : numbers) squares += number * number;
  return 1.0 / std::sqrt(squares / static_cast<double>(numbers.size()) + 1e-6);
}

}  // namespace ringcraft
