#pragma once
/// @file
/// HostEngine: the block engine of a CPU rank, in float or double. Elements and accumulators have the same
/// type.

#include <atomic>
#include <memory>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

template <class T>
class BlockKernels;

/// Which kernels a host engine computes with.
enum class Kernel : std::uint8_t {
  kFast,      ///< lesson 108
  kReadable,  ///< lessons 105 and 106: Eigen's products, any tile size, one thread
};

/// How a host engine computes.
struct HostOptions {
  Kernel kernel = Kernel::kFast;  ///< which kernels
  int threads = 1;                ///< of this rank, the caller's among them; kFast only
  TileSize tile = {};             ///< kReadable only
  /// kFast only: once it is true, a forward or backward throws Error where its next task would begin, some
  /// milliseconds later, and its results mean nothing (null: never). It must live as long as the engine.
  const std::atomic<bool>* stop = nullptr;
};

/// Computes blocks with the fast or the readable blockwise kernels, and joins each block's partial result to
/// the state by the merge of lesson 104. The same inputs give the same bits in every run, with any number of
/// threads.
template <class T>
class HostEngine final : public BlockEngine {
 public:
  /// An engine with these options. Throws Error for fewer threads than one, more than one thread of the
  /// readable kernels, or a tile size below 1.
  explicit HostEngine(HostOptions options = {});
  /// An engine with the readable kernels in tiles of this size. Throws Error for a size below 1.
  explicit HostEngine(TileSize tile);
  ~HostEngine() override;

  Space space() const override { return Space::kHost; }
  DType dtype(Role) const override { return dtype_of<T>(); }
  void refuse(const Problem&, Pass) const override {}  // every problem
  Buffer allocate(Extents extents, Role) override { return Buffer(extents, dtype_of<T>()); }
  Output finish(RowState&& state) override;
  Buffer delta(const Buffer& out, const Buffer& dout) override;

 private:
  RowState do_begin(const Buffer& q) override;
  void do_set_zero(Buffer& buffer) override;
  void do_forward(RowState& state, const Buffer& q, const KvBlock& block, const BlockRanges& ranges,
                  double softmax_scale) override;
  void do_backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                   const BlockRanges& ranges, double softmax_scale) override;
  void do_add(KvBlock& into, const KvBlock& from) override;

  std::unique_ptr<BlockKernels<T>> kernels_;
};

/// A HostEngine of this number type. Throws Error for bfloat16, which is a storage type, and for options that
/// HostEngine refuses.
std::unique_ptr<BlockEngine> make_host_engine(DType type, HostOptions options = {});

}  // namespace ringcraft
