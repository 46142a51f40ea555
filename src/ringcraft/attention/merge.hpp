#pragma once
/// @file
/// Merge (lesson 104): attention over two disjoint sets of keys, put together from the two partial results.
/// It is what lets a ring compute attention block by block, and the one piece of arithmetic that ring
/// attention adds to blockwise attention.

#include <span>
#include <tuple>
#include <type_traits>

#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

/// The partial result (O, m, l) of some rows over some keys: out is the unnormalised sum of exp(score - m) *
/// v, [rows, head_dim]; max is m and sum is l, one number per row. The identity, which has seen no key, is
/// (0, -inf, 0).
template <class T>
struct Partial {
  Matrix<T> out;     ///< O, unnormalised [rows, head_dim]
  std::span<T> max;  ///< m [rows]
  std::span<T> sum;  ///< l [rows]

  /// The rows [first, first + count).
  Partial slice(Index first, Index count) const {
    const auto f = static_cast<std::size_t>(first), n = static_cast<std::size_t>(count);
    return {out.slice(first, count), max.subspan(f, n), sum.subspan(f, n)};
  }
  /// A mutable partial may be read through a constant one.
  operator Partial<const T>() const requires(!std::is_const_v<T>) { return {out, max, sum}; }
  static auto fields(auto& self) { return std::tie(self.out, self.max, self.sum); }
};

/// acc becomes the partial of its own keys and the block's keys together. With m = max(m_a, m_b):
///   w_a = exp(m_a - m), w_b = exp(m_b - m), l = w_a l_a + w_b l_b, O = w_a O_a + w_b O_b.
/// Merging with the identity changes nothing. Commutative, associative up to rounding, not idempotent. The
/// two have the same rows and head_dim. (Formula: Milakov and Gimelshein 2018, sec. 3.1, extended to O.)
template <class T>
void merge(Partial<T> acc, Partial<const T> block);

/// The same for normalised results (out, lse), whose identity is (0, -inf): out becomes
/// (w_a out_a + w_b out_b) / (w_a + w_b) with w = exp(lse - max(lse_a, lse_b)).
template <class T>
void merge_normalized(Matrix<T> out, std::span<T> lse, Matrix<const T> block_out,
                      std::span<const T> block_lse);

}  // namespace ringcraft
