#pragma once
/// @file
/// Kernels that HostEngine computes a KV block with, readable or fast, over all heads.

#include <memory>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// The kernels of an engine, and the memory that they keep from block to block.
template <class T>
class BlockKernels {
 public:
  virtual ~BlockKernels() = default;

  /// Adds a block to the state, as BlockEngine::forward does.
  virtual void forward(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
                       double softmax_scale) = 0;
  /// Adds a block's gradients to dq and part, as BlockEngine::backward does.
  virtual void backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                        const KeyRanges& ranges, double softmax_scale) = 0;
};

/// Those of lessons 105 to 107, in tiles of this size.
template <class T>
std::unique_ptr<BlockKernels<T>> readable_kernels(TileSize tile);

}  // namespace ringcraft
