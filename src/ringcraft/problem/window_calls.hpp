#pragma once
/// @file
/// Sliding windows for a kernel that knows no positions. Such a kernel (FlashAttention's interface, for one)
/// gets some rows, some keys and a window that is aligned to the bottom right corner of the two; a block of
/// the ring is one or two of its calls.

#include <vector>

#include "ringcraft/problem/deal.hpp"

namespace ringcraft {

/// One call: with d keys more than rows, row i computes the keys j, i + d - left <= j <= i + d + right, both
/// counted within the call. A limit of -1 is none.
struct WindowCall {
  Chunk rows;      ///< local rows of the query shard
  Chunk keys;      ///< local keys of the block
  Position left;   ///< window_size[0]
  Position right;  ///< window_size[1]

  /// Whether it computes this local row and key.
  bool computes(Index row, Index key) const;
  friend bool operator==(const WindowCall&, const WindowCall&) = default;
};

/// The calls that compute exactly what neighbouring queries see of neighbouring keys under
/// window_mask(window); empty if they see nothing. Both are runs of one sequence, as global positions: the
/// keys are those of the queries, or all lie in front of them. No call has more rows than keys, unless it has
/// no limits: then all kernels agree on its alignment.
std::vector<WindowCall> window_calls(Chunk queries, Chunk keys, Position window);

}  // namespace ringcraft
