#pragma once
/// @file
/// Grouped heads (lesson 107): attention of whole tensors, whose query heads share fewer KV heads. With
/// group = heads / kv_heads, the neighbours [g * group, (g + 1) * group) of the query heads share KV head g.
/// group = 1 is multi-head attention, kv_heads = 1 is multi-query attention. A KV head is stored and sent
/// once, however many heads read it; in backward its dk and dv are sums over all of them.

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// Adds a KV block to the state of every query head, by blockwise_forward. q, state.out [batch, heads, rows,
/// head_dim]; state.max, state.sum [batch, heads, rows, 1]; kv [batch, kv_heads, keys, head_dim], where
/// kv_heads divides heads. `ranges` holds for every batch entry and head. All of type T, host.
template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile = {});

/// Adds the gradients of sum(out * dout) over this block, by blockwise_backward: each query head's share to
/// its own dq, and to the dk and dv of its KV head. q, dout, dq [batch, heads, rows, head_dim]; lse, delta
/// [batch, heads, rows, 1]; kv, dkv [batch, kv_heads, keys, head_dim]. All of type T, host.
template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile = {});

}  // namespace ringcraft
