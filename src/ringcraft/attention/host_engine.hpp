#pragma once
/// @file
/// HostEngine: the block engine of a CPU rank, in float or double. Elements and accumulators have the same
/// type.

#include <memory>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// Computes blocks with the blockwise kernels of lessons 105 and 106, and joins each block's partial result
/// to the state by the merge of lesson 104. One thread.
template <class T>
class HostEngine final : public BlockEngine {
 public:
  /// An engine that computes in tiles of this size. Throws Error for a size below 1.
  explicit HostEngine(TileSize tile = {}) : tile_(tile) { tile_.validate(); }

  Space space() const override { return Space::kHost; }
  DType dtype(Role) const override { return dtype_of<T>(); }
  void refuse(const Problem&, Pass) const override {}  // every problem
  Buffer allocate(Extents extents, Role) override { return Buffer(extents, dtype_of<T>()); }
  RowState begin(const Buffer& q) override;
  Output finish(RowState&& state) override;
  Buffer delta(const Buffer& out, const Buffer& dout) override;
  void set_zero(Buffer& buffer) override;

 private:
  void do_forward(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
                  double softmax_scale) override;
  void do_backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                   const KeyRanges& ranges, double softmax_scale) override;
  void do_add(KvBlock& into, const KvBlock& from) override;

  TileSize tile_;
};

/// A HostEngine of this number type. Throws Error for bfloat16, which is a storage type.
std::unique_ptr<BlockEngine> make_host_engine(DType type);

}  // namespace ringcraft
