#pragma once
/// @file
/// Recording: turns the trace of one rank on for a scope, at both ends where a ring touches the world.

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/comm/trace.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// While it lives, what this rank sends, receives and computes is recorded. One recording at a time for a
/// communicator and an engine.
class Recording {
 public:
  /// Records into `trace`, which must outlive this; null: records nothing.
  Recording(RankTrace* trace, Communicator& comm, BlockEngine& engine)
      : trace_(trace), comm_(comm), engine_(engine) {
    if (trace_ == nullptr) return;
    trace_->use_clock(&comm_);
    comm_.record(trace_);
    engine_.record(trace_);
  }
  ~Recording() {
    if (trace_ == nullptr) return;
    engine_.record(nullptr);
    comm_.record(nullptr);
    trace_->use_clock(nullptr);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  RankTrace* trace_;
  Communicator& comm_;
  BlockEngine& engine_;
};

/// Says that `block` is that of rank `owner`, for those who read the trace; null: says nothing.
inline void hold(RankTrace* trace, int owner, const KvBlock& block) {
  if (trace == nullptr) return;
  trace->holds("k", owner, block.k);
  trace->holds("v", owner, block.v);
}

}  // namespace ringcraft
