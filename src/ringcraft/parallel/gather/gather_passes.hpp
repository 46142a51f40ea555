#pragma once
/// @file
/// All-gather attention for one rank's shard: both passes, and what they cost. Exact for every mask and
/// layout; tensors are those of ring.hpp. The method is kAllGather (parallel/method.hpp).

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/theory.hpp"
#include "ringcraft/parallel/gather/head_slices.hpp"

namespace ringcraft {

/// out and lse of the rank's rows. q is problem.q_extents(rank), kv is problem.kv_extents(rank); neither is
/// written.
Output gather_forward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                      const HeadSlices& slices, const Buffer& q, const KvBlock& kv);

/// The gradients of sum(out * dout): keys and values are gathered again, and each block's gradients go to
/// its owner as soon as they are computed, which adds them (a reduce-scatter) in the order of the distance.
Gradients gather_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                          const HeadSlices& slices, const Buffer& q, const KvBlock& kv, const Output& output,
                          const Buffer& dout);

/// The expected cost of a pass. Every rank that sees a key of a block gets it once, slice by slice: with full
/// attention (N - 1) blocks out of and into every rank, as many bytes as in a ring, and backward the same of
/// gradients.
Theory gather_theory(const Problem& problem, const HeadSlices& slices, Pass pass, RoleBytes bytes);

}  // namespace ringcraft
