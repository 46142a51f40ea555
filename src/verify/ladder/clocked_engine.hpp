#pragma once
/// @file
/// Wraps an engine: advances its rank's virtual clock by the work done, and delegates the computation.

#include <memory>

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/engine/theory.hpp"

namespace ringcraft::verify {

/// Computing a block costs its visible pairs times seconds_per_pair of virtual time, which is the cost of a
/// pair in `heads` heads, all batch entries together; a call with fewer heads costs less (0: as much).
class ClockedEngine final : public BlockEngine {
 public:
  /// Delegates computing to `engine`, and charges the time to the rank of `comm`, which must outlive this
  /// object.
  ClockedEngine(std::unique_ptr<BlockEngine> engine, ThreadCommunicator& comm, double seconds_per_pair,
                Index heads = 0)
      : engine_(std::move(engine)), comm_(comm), seconds_per_pair_(seconds_per_pair), heads_(heads) {}

  Space space() const override { return engine_->space(); }
  DType dtype(Role role) const override { return engine_->dtype(role); }
  void refuse(const Problem& problem, Pass pass) const override { engine_->refuse(problem, pass); }
  Buffer allocate(Extents extents, Role role) override { return engine_->allocate(extents, role); }
  Output finish(RowState&& state) override { return engine_->finish(std::move(state)); }
  Buffer delta(const Buffer& out, const Buffer& dout) override { return engine_->delta(out, dout); }

 private:
  RowState do_begin(const Buffer& q) override { return engine_->begin(q); }
  void do_set_zero(Buffer& buffer) override { engine_->set_zero(buffer); }
  void charge(const Buffer& q, const BlockRanges& ranges) {
    comm_.advance(share_of_heads(q, heads_) * static_cast<double>(ranges.pairs()) * seconds_per_pair_);
  }
  void do_forward(RowState& state, const Buffer& q, const KvBlock& block, const BlockRanges& ranges,
                  double softmax_scale) override {
    engine_->forward(state, q, block, ranges, softmax_scale);
    charge(q, ranges);
  }
  void do_backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                   const BlockRanges& ranges, double softmax_scale) override {
    engine_->backward(dq, part, saved, block, ranges, softmax_scale);
    charge(saved.q, ranges);
  }
  void do_add(KvBlock& into, const KvBlock& from) override { engine_->add(into, from); }

  std::unique_ptr<BlockEngine> engine_;
  ThreadCommunicator& comm_;
  double seconds_per_pair_;
  Index heads_;
};

}  // namespace ringcraft::verify
