#pragma once
/// @file
/// The blocks that a ring keeps between its passes. Methods that run a ring share it.

#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

/// The results of a ring's forward pass, and the KV blocks for its backward pass: the one that the schedule
/// begins with, the rank's own, or for kReversed the one that the forward pass held last; the own one is
/// freed then, unless the ring does not bring it home.
struct SavedRing {
  Output output;  ///< out and lse of the rank's rows
  int owner;      ///< the rank whose block `first` is
  KvBlock first;  ///< where the backward pass begins
  KvBlock own;    ///< the rank's own block, if it is kept
};

/// The forward pass of a ring whose backward pass will follow with this schedule.
SavedRing ring_forward_saving(Communicator& comm, BlockEngine& engine, const Problem& problem,
                              Schedule schedule, const Buffer& q, KvBlock kv);

}  // namespace ringcraft
