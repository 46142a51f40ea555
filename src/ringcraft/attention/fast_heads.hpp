#pragma once
/// @file
/// The fast kernels over all heads of a KV block, on one or several threads: what HostEngine does with
/// Kernel::kFast. The numbers depend neither on timing nor on the number of threads: each is summed by one
/// task, or from a fixed number of shares in a fixed order.

#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// Adds a block to the state, as BlockEngine::forward does. The queue holds (head, query block), the longest
/// blocks first.
template <class T>
void fast_forward_heads(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
                        double softmax_scale, int threads);

/// Adds a block's gradients to dq and part, as BlockEngine::backward does. The queue holds (KV head, share of
/// its keys).
template <class T>
void fast_backward_heads(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                         const KeyRanges& ranges, double softmax_scale, int threads);

}  // namespace ringcraft
