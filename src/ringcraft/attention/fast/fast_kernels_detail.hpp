#pragma once
/// @file
/// The fast kernels in pieces that threads can share out: the forward pass of some rows, the backward pass of
/// some keys, and the panels that they read. fast_blockwise.hpp puts them together for one head, FastHeads
/// for all.

#include <span>

#include "ringcraft/attention/fast/fast_tiles_detail.hpp"
#include "ringcraft/attention/fast/panels.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft {

/// Query rows that are best computed at a time, forward: many enough that the panels' way into the cache
/// pays, few enough that the tile of scores stays there.
inline constexpr Index kForwardRows = 96;

/// K and V of one head as the forward pass reads them.
template <class T>
struct KeyPanels {
  Panels<T> keys;    ///< of softmax_scale * kᵀ
  Panels<T> values;  ///< of v

  /// Copies k and v [keys, head_dim].
  void take(Matrix<const T> k, Matrix<const T> v, T softmax_scale);
};

/// The forward pass of some rows, and the memory that it needs; one for each thread.
template <class T>
class FastForward {
 public:
  /// Adds all keys to the partial result of the rows [first, first + q.rows) of `ranges`; q and acc are these
  /// rows.
  void add(Matrix<const T> q, const KeyPanels<T>& kv, const KeyRanges& ranges, Index first, Partial<T> acc);

 private:
  void add_tile(const fast_detail::Tile& tile, Matrix<const T> q, const KeyPanels<T>& kv,
                const KeyRanges& ranges, Partial<T> acc);

  fast_detail::Scores<T> scores_;
  Scratch<T> out_;
};

/// Keys whose gradients are computed at a time, backward.
template <class T>
inline constexpr Index kBackwardKeys = 1024 / Index{sizeof(T)};

/// Inputs of the backward pass for one query head.
template <class T>
struct QueryPanels {
  Matrix<const T> q;         ///< [rows, head_dim]
  Matrix<const T> dout;      ///< as q
  std::span<const T> lse;    ///< [rows]
  std::span<const T> delta;  ///< as lse
  Panels<T> q_panels;        ///< of q
  Panels<T> dout_panels;     ///< of dout

  /// Looks at all four and copies q and dout.
  void take(Matrix<const T> queries, Matrix<const T> upstream, std::span<const T> row_lse,
            std::span<const T> row_delta);
};

/// The backward pass of some keys, and the memory that it needs; one for each thread.
template <class T>
class FastBackward {
 public:
  /// The gradients over the keys [first, first + k.rows) of `ranges`, first a multiple of the panel width:
  /// adds to dk and dv [k.rows, head_dim], and the share of dq, not yet multiplied by softmax_scale, to dq
  /// [rows, padded(head_dim)].
  void add(const QueryPanels<T>& queries, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
           Index first, T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv);

 private:
  void add_tile(const fast_detail::Tile& tile, Index first, const QueryPanels<T>& queries,
                const KeyRanges& ranges, Matrix<T> dq);

  Panels<T> keys_, keys_transposed_, values_transposed_;
  fast_detail::Scores<T> weights_, dscores_;
  Scratch<T> dk_, dv_;
};

}  // namespace ringcraft
