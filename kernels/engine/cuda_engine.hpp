#pragma once
/// @file
/// CudaEngine: the block engine of a GPU rank. It drives any of the numbered kernels; elements are of the
/// number type that the forward kernel takes, state and gradients float32. Compiled for hosts: it contains no
/// launch.

#include "backward/backward.hpp"
#include "engine/device_memory.hpp"
#include "engine/range_upload.hpp"
#include "engine/tile_table.hpp"
#include "forward/forward.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft::kernels {

/// The kernels that an engine drives.
struct CudaRungs {
  const ForwardRung* forward = &kOnlineSoftmax;
  const BackwardRung* backward = &kTwoKernels;
  TileTable tiles = {};  ///< the sizes of their tiles
};
/// This backward rung, and the best forward one that takes the same number type.
CudaRungs with_forward(const BackwardRung& backward);

/// Computes blocks on one device, on a stream of its own: every call returns when its work is enqueued, and
/// buffers are read on the host through copied_to_host(). One engine belongs to one thread.
class CudaEngine final : public BlockEngine {
 public:
  /// Uses this device, counted from 0, in the calling thread. Throws Error (Code::kMissing) if it is not
  /// there.
  explicit CudaEngine(int device = 0, CudaRungs rungs = {});

  Space space() const override { return Space::kDevice; }
  DType dtype(Role role) const override {
    return role == Role::kElement ? rungs_.forward->dtype : DType::kFloat32;
  }
  void refuse(const Problem& problem, Pass pass) const override;
  Buffer allocate(Extents extents, Role role) override;
  Output finish(RowState&& state) override;
  Buffer delta(const Buffer& out, const Buffer& dout) override;

  /// The device that the engine computes on.
  const Device& device() const { return device_; }
  /// The stream on which the engine enqueues its work.
  const Stream& stream() const { return stream_; }

 private:
  RowState do_begin(const Buffer& q) override;
  void do_set_zero(Buffer& buffer) override;
  void do_forward(RowState& state, const Buffer& q, const KvBlock& block, const BlockRanges& ranges,
                  double softmax_scale) override;
  void do_backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                   const BlockRanges& ranges, double softmax_scale) override;
  void do_add(KvBlock& into, const KvBlock& from) override;
  void do_copy(Buffer& to, const Buffer& from, const RowCopy& rows) override;
  float* workspace(Index numbers);

  CudaRungs rungs_;
  Device device_;  // it is selected before anything is made on it
  Stream stream_;
  RangeUpload ranges_, transposed_ranges_, copied_rows_;
  Buffer workspace_;  // memory of the rungs beside their operands, kept from call to call
};

}  // namespace ringcraft::kernels
