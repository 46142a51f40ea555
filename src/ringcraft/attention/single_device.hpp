#pragma once
/// @file
/// Attention of a whole tensor on one device, dense or blockwise: the stages of the ladder before the first
/// ring.

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// How one device computes attention.
enum class Algorithm : std::uint8_t {
  kDense,      ///< lesson 101
  kBlockwise,  ///< lessons 105 and 106
  kFast,       ///< lesson 108
};

/// out and lse for q [batch, heads, rows, head_dim] against kv [batch, kv_heads, keys, head_dim], all float32
/// or all float64, host. `tile` matters to kBlockwise only.
Output attention_forward(Algorithm algorithm, const Buffer& q, const KvBlock& kv, const KeyRanges& ranges,
                         double softmax_scale, TileSize tile = {});

/// The gradients of sum(out * dout) with respect to q, k and v.
Gradients attention_backward(Algorithm algorithm, const Buffer& q, const KvBlock& kv, const Output& output,
                             const Buffer& dout, const KeyRanges& ranges, double softmax_scale,
                             TileSize tile = {});

}  // namespace ringcraft
