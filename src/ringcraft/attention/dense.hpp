#pragma once
/// @file
/// Dense attention of one head (lesson 101): the whole score matrix in memory, O(rows * keys). It is the
/// reference stage, which all later stages are compared with; long sequences need another algorithm.

#include <span>

#include "ringcraft/core/matrix.hpp"
#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft {

/// out = softmax(softmax_scale * q kᵀ) v over the visible keys, and the row's lse.
/// q, out [rows, head_dim]; k, v [keys, head_dim]; lse [rows]. A row without a key: out = 0, lse = -inf.
template <class T>
void dense_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                   T softmax_scale, Matrix<T> out, std::span<T> lse);

/// Adds the gradients of sum(out * dout) to dq, dk, dv. lse is what the forward pass gave, delta =
/// rowsum(dout * out). With P = exp(scale * q kᵀ - lse): dv += Pᵀ dout, dS = P * (dout vᵀ - delta), dq +=
/// scale dS k, dk += scale dSᵀ q.
template <class T>
void dense_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                    std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                    T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv);

}  // namespace ringcraft
