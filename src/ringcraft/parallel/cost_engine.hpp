#pragma once
/// @file
/// CostEngine: an engine that computes nothing. Its buffers have sizes and addresses but no memory, and every
/// block advances the rank's virtual clock by what it would cost. With it a method runs as it is, messages,
/// buffers and all, on far more ranks and tokens than fit this machine.

#include <atomic>

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/ring/timed_ring.hpp"

namespace ringcraft {

/// Memory that nobody may touch: addresses that no process has, no two buffers with a common byte. It counts
/// as host memory.
const Memory& unbacked_memory();

/// A link for such buffers: carries nothing (SwitchboardOptions::carry).
inline void carry_nothing(const Delivery&) {}

/// Allocates what a HostEngine allocates, and charges time instead of computing.
class CostEngine : public BlockEngine {
 public:
  /// Number types of the roles.
  struct Types {
    DType element = DType::kBFloat16;     ///< Role::kElement
    DType accumulator = DType::kFloat32;  ///< Role::kAccumulator
  };

  /// Charges the clock of `comm`, which must outlive this: `forward` and `backward` for a block with a
  /// visible pair. The cost of a pair is that of `heads` heads, all batch entries together, and a call with
  /// fewer of them costs less; 0: that of any number.
  CostEngine(ThreadCommunicator& comm, Types types, BlockCost forward, BlockCost backward, Index heads = 0)
      : comm_(comm), types_(types), forward_(forward), backward_(backward), heads_(heads) {}
  /// The same cost in both passes, whatever the number of heads.
  CostEngine(ThreadCommunicator& comm, BlockCost cost) : CostEngine(comm, {}, cost, cost) {}

  /// Once `stop` is true, the next block throws Error instead.
  void stop_at(const std::atomic<bool>* stop) { stop_ = stop; }

  /// Virtual seconds of computing so far.
  double seconds() const { return seconds_; }

  Space space() const override { return Space::kHost; }
  DType dtype(Role role) const override {
    return role == Role::kElement ? types_.element : types_.accumulator;
  }
  void refuse(const Problem&, Pass) const override {}
  Buffer allocate(Extents extents, Role role) override;
  Output finish(RowState&& state) override;
  Buffer delta(const Buffer& out, const Buffer& dout) override;

 private:
  RowState do_begin(const Buffer& q) override;
  void do_set_zero(Buffer&) override {}
  void charge(BlockCost cost, const Buffer& q, const BlockRanges& ranges);
  void do_forward(RowState&, const Buffer& q, const KvBlock&, const BlockRanges& ranges, double) override {
    charge(forward_, q, ranges);
  }
  void do_backward(Buffer&, KvBlock&, const Saved& saved, const KvBlock&, const BlockRanges& ranges,
                   double) override {
    charge(backward_, saved.q, ranges);
  }
  void do_add(KvBlock&, const KvBlock&) override {}
  void do_copy(Buffer&, const Buffer&, const RowCopy&) override {}

  ThreadCommunicator& comm_;
  Types types_;
  BlockCost forward_, backward_;
  Index heads_;
  double seconds_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace ringcraft
