#pragma once
/// @file
/// Matrix products, and the maximum and the exponential of a row, as plain functions. Eigen computes them,
/// inside one source file: its templates cost a second of compile time, and no public header should.

#include <span>

#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

/// c = factor * a bᵀ; a is [m, k], b is [n, k], c is [m, n].
template <class T>
void multiply_transposed(Matrix<const T> a, Matrix<const T> b, T factor, Matrix<T> c);

/// c += factor * a b; a is [m, k], b is [k, n], c is [m, n].
template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, T factor, Matrix<T> c);

/// c += factor * aᵀ b; a is [k, m], b is [k, n], c is [m, n].
template <class T>
void transposed_multiply_add(Matrix<const T> a, Matrix<const T> b, T factor, Matrix<T> c);

/// The largest number of x, vectorised; x is not empty.
template <class T>
T maximum(std::span<const T> x);

/// x = exp(x - shift) in place, vectorised; returns the sum. Every x - shift is finite and at most about 0: a
/// masked score is left out by its loop bounds, never passed in as -inf (whose vectorised exponential is not
/// 0).
template <class T>
T exponentials(std::span<T> x, T shift);

}  // namespace ringcraft
