#pragma once
/// @file
/// Blockwise attention of one head (lessons 105 and 106): the score matrix is never stored; one tile of it at
/// a time is computed, used and forgotten, so memory is O(rows + keys). Tiles without a visible pair are
/// skipped.

#include <span>
#include <tuple>

#include "ringcraft/attention/merge.hpp"
#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft {

/// Extents of a tile of scores. Any positive sizes are right; 256 x 256 is the fastest with Eigen's products.
struct TileSize {
  Index rows = 256;  ///< query rows of a tile
  Index keys = 256;  ///< keys of a tile

  /// Throws Error unless both are at least 1.
  void validate() const;
  static auto fields(auto& self) { return std::tie(self.rows, self.keys); }
};

/// Adds the keys of a block to the partial result of some rows: per tile, the maximum may grow, O and l
/// follow it, and the tile's weights are multiplied with v at once. Starting from the identity gives the
/// block's own partial. q, acc.out [rows, head_dim]; k, v [keys, head_dim].
template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize tile = {});

/// Sets a partial to the identity (0, -inf, 0).
template <class T>
void set_identity(Partial<T> acc);

/// Ends a forward pass in place: acc.out = O / l and acc.max = m + log l, which is the lse. A row that has
/// seen no key becomes (0, -inf). For every other row l >= 1, so there is nothing to clamp.
template <class T>
void finish(Partial<T> acc);

/// Adds the gradients of sum(out * dout) over this block to dq, dk, dv, from the final lse of the whole row
/// and delta = rowsum(dout * out). The formulas are those of dense_backward, tile by tile.
template <class T>
void blockwise_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                        std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                        T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv, TileSize tile = {});

/// delta[i] = sum over columns of dout(i, .) * out(i, .).
template <class T>
void row_delta(Matrix<const T> out, Matrix<const T> dout, std::span<T> delta);

}  // namespace ringcraft
