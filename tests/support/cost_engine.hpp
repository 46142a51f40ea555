#pragma once
/// @file
/// An engine that computes nothing and adds the cost of computing to the rank's virtual clock: with it
/// the timeline, the traffic and the memory of a ring can be measured exactly. Elements are bf16,
/// accumulators float32, as on a GPU. The numbers in its results mean nothing.

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/ring/timed_ring.hpp"

namespace ringcraft::testing {

using Cost = BlockCost;

class CostEngine : public BlockEngine {
 public:
  CostEngine(ThreadCommunicator& comm, Cost cost) : comm_(comm), cost_(cost) {}

  Space space() const override { return Space::kHost; }
  DType dtype(Role role) const override {
    return role == Role::kElement ? DType::kBFloat16 : DType::kFloat32;
  }
  void refuse(const Problem&, Pass) const override {}
  Buffer allocate(Extents extents, Role role) override { return Buffer(extents, dtype(role)); }

  RowState begin(const Buffer& q) override {
    const Extents e = q.extents(), rows{e.batch, e.heads, e.rows, 1};
    return {allocate(e, Role::kAccumulator), allocate(rows, Role::kAccumulator),
            allocate(rows, Role::kAccumulator)};
  }
  Output finish(RowState&& state) override { return {std::move(state.out), std::move(state.max)}; }
  Buffer delta(const Buffer& out, const Buffer&) override {
    const Extents e = out.extents();
    return allocate({e.batch, e.heads, e.rows, 1}, Role::kAccumulator);
  }
  void set_zero(Buffer&) override {}

 private:
  void charge(const BlockRanges& ranges) {
    comm_.advance(cost_.per_block + cost_.per_pair * static_cast<double>(ranges.pairs()));
  }
  void do_forward(RowState&, const Buffer&, const KvBlock&, const BlockRanges& ranges, double) override {
    charge(ranges);
  }
  void do_backward(Buffer&, KvBlock&, const Saved&, const KvBlock&, const BlockRanges& ranges,
                   double) override {
    charge(ranges);
  }
  void do_add(KvBlock&, const KvBlock&) override {}

  ThreadCommunicator& comm_;
  Cost cost_;
};

}  // namespace ringcraft::testing
