#pragma once
/// @file
/// Ring attention: exact attention over a sequence that is dealt to N ranks. Queries stay where they are; the
/// KV blocks walk around the ring, and every rank merges what it sees of each block into its running (O, m,
/// l). One function for each pass serves every transport, engine, layout, mask, head grouping and length.

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/problem/reach.hpp"

namespace ringcraft {

/// Results of the forward ring on a rank.
struct RingOutput {
  Output output;  ///< out and lse of the rank's rows
  /// The KV block that the rank held last, the one of rank (r - hops) mod N: where the reversed backward
  /// schedule starts. Empty if that is the rank's own block (hops = 0), or does not reach this rank.
  KvBlock last;

  static auto fields(auto& self) { return std::tie(self.output, self.last); }
};

/// Results of the backward ring on a rank: the gradients of its own q, k and v.
using RingGradients = Gradients;

/// Which way blocks travel in the backward pass. Gradients always travel with their block.
enum class Schedule : std::uint8_t {
  kForward,   ///< as in the forward pass, from the own block on; a complete sum of gradients goes straight to
              ///< the owner
  kReversed,  ///< the forward pass run backwards, from the block that it ended with; the last step is the own
              ///< block
};

/// Ring attention, forward, for this rank's shard. q is problem.q_extents(rank), kv is
/// problem.kv_extents(rank), of the engine's element type; neither is written. At most two further KV blocks
/// are held. After step t the rank has seen the blocks of the ranks r, r-1, ..., r-t; every rank makes
/// hops(problem) exchanges, and no block goes beyond its reach (route.hpp). Throws Error on every rank,
/// before the first message, for what refuse() does not admit.
RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv);

/// Ring attention, backward, for this rank's shard: the gradients of sum(out * dout) with respect to the
/// rank's q, k and v. `first` is the KV block that the schedule starts with: the rank's own for kForward,
/// RingOutput::last for kReversed (the own block again if hops = 0; it is not read where that block does not
/// reach this rank). `own` is the rank's own block; it is read only where Route::keeps_own says so, and may
/// be empty elsewhere. No argument is written, so the call can be repeated.
RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout);

}  // namespace ringcraft
