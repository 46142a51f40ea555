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

/// Records that `tensor` is `name` of rank `owner`, for readers of the trace; null or no rows: records
/// nothing.
inline void hold(RankTrace* trace, std::string_view name, int owner, const Buffer& tensor,
                 const HeldPart& part = {}) {
  if (trace != nullptr && !tensor.empty()) trace->holds(name, owner, tensor, part);
}

/// The same for the keys and values of a block.
inline void hold(RankTrace* trace, int owner, const KvBlock& block, const HeldPart& part = {}) {
  hold(trace, "k", owner, block.k, part);
  hold(trace, "v", owner, block.v, part);
}

/// Records that `tensor` is a result of this rank; null or no rows: records nothing.
inline void give(RankTrace* trace, std::string_view name, const Buffer& tensor) {
  if (trace != nullptr && !tensor.empty()) trace->gives(name, tensor);
}

}  // namespace ringcraft
