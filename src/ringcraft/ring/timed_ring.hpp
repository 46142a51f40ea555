#pragma once
/// @file
/// The seconds of a ring's pieces, from the problem, the speed of an engine and that of a link. With
/// ring_clocks (clocks.hpp) they foretell what run_ranks measures in virtual time.

#include "ringcraft/comm/switchboard.hpp"
#include "ringcraft/ring/clocks.hpp"

namespace ringcraft {

/// Seconds of computing with a block of which a rank sees something; with any other it computes nothing.
struct BlockCost {
  double per_block = 0;  ///< whatever it holds
  double per_pair = 0;   ///< for each visible pair of one head
};

/// The pieces of one pass. `schedule` is that of the backward pass, as for ring_messages; a message takes
/// alpha + bytes / beta seconds.
TimedRing timed_ring(const Problem& problem, Pass pass, Schedule schedule, RoleBytes bytes, BlockCost block,
                     LinkCost link);

}  // namespace ringcraft
