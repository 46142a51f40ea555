#pragma once
/// @file
/// Blockwise attention of one head at the speed of the processor (lesson 108): the algorithm of
/// blockwise.hpp, lessons 105 and 106, on one register kernel, panels and a fast exponential. Masked pairs
/// are left out by the loop bounds of KeyRanges: tiles without a visible pair and the keys around the visible
/// ones of a tile are not computed, and inside it a masked weight is exactly 0.

#include <span>

#include "ringcraft/attention/merge.hpp"
#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft {

/// Adds the keys of a block to the partial result of some rows, as blockwise_forward does.
/// q, acc.out [rows, head_dim]; k, v [keys, head_dim].
template <class T>
void fast_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                  T softmax_scale, Partial<T> acc);

/// Adds the gradients of sum(out * dout) over this block to dq, dk, dv, as blockwise_backward does.
template <class T>
void fast_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                   std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges, T softmax_scale,
                   Matrix<T> dq, Matrix<T> dk, Matrix<T> dv);

}  // namespace ringcraft
