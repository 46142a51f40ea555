#pragma once
/// @file
/// Recording: turns the trace of one rank on for a scope, at both ends where a method touches the world.

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/parallel/rank_place.hpp"

namespace ringcraft {

/// Records, during its lifetime, what this rank sends, receives and computes. One recording at a time for a
/// place.
class Recording {
 public:
  /// Records into the place's trace, if it has one. The place outlives this.
  explicit Recording(RankPlace& place) : place_(place) {
    if (place_.trace() == nullptr) return;
    place_.trace()->use_clock(&place_.comm());
    place_.comm().record(place_.trace());
    place_.engine().record(place_.trace());
  }
  ~Recording() {
    if (place_.trace() == nullptr) return;
    place_.engine().record(nullptr);
    place_.comm().record(nullptr);
    place_.trace()->use_clock(nullptr);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  RankPlace& place_;
};

/// One rank's part of a trace, which may be null, and then so is this.
inline RankTrace* part_of(Trace* trace, int rank) { return trace == nullptr ? nullptr : &trace->rank(rank); }

/// Records that `block` is that of rank `owner`, for readers of the trace; null or no rows: records nothing.
inline void hold(RankTrace* trace, int owner, const KvBlock& block) {
  if (trace == nullptr || block.k.empty()) return;
  trace->holds("k", owner, block.k);
  trace->holds("v", owner, block.v);
}

}  // namespace ringcraft
