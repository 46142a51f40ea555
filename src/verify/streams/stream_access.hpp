#pragma once
/// @file
/// Accesses to a rank's memory under vector clocks, and the races among them.

#include <cstdint>
#include <vector>

#include "verify/streams/stream_model.hpp"

namespace ringcraft::verify {

/// A time for each stream: how many beginnings and ends of its entries are known to lie in the past.
using VectorClock = std::vector<std::int64_t>;
/// The knowledge of either of them.
void join(VectorClock& into, const VectorClock& from);

/// One entry of a stream, as far as order is concerned.
struct StreamWork {
  int rank;
  std::size_t component;  ///< of the clocks: its stream
  VectorClock at_begin;   ///< known when it begins
  std::int64_t end_tick;  ///< of its component
  int position;           ///< among the rank's steps
  int number;             ///< of a computation, from 0; -1: an exchange
  int exchange;           ///< -1: a computation

  /// Whether this has ended, whatever the timing, when `later` begins.
  bool ends_before(const StreamWork& later) const { return later.at_begin[component] >= end_tick; }
};

/// One access of it.
struct StreamAccess {
  StreamWork work;
  TracedBytes bytes;
  bool writes;
  int peer = -1;
  Op::Kind op = Op::kSend;
};

/// Accesses of one rank to the same bytes, at least one a write, that nothing orders.
std::vector<StreamFinding> races_of(const std::vector<StreamAccess>& accesses);
/// Computations between start and wait that begin only after the exchange. `works` are those of one rank.
std::vector<StreamFinding> lost_overlap(const std::vector<StreamWork>& works,
                                        const std::vector<StreamStep>& steps);

}  // namespace ringcraft::verify
