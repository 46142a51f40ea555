#pragma once
/// @file
/// The double ring: ring attention over nodes whose inner links are fast and whose outer links are slow. A KV
/// block goes around its node while it travels to the next one, so that a slow link has a whole turn for each
/// block. Exact for every mask and layout; tensors are those of ring.hpp. The method is kDoubleRing
/// (parallel/method.hpp).

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/theory.hpp"
#include "ringcraft/problem/problem.hpp"

namespace ringcraft {

/// out and lse of the rank's rows; `node` neighbours make up a node. Neither q nor kv is written.
Output double_ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, int node,
                           const Buffer& q, const KvBlock& kv);

/// The gradients of sum(out * dout). Inside of a node the sums of dk and dv walk with their block, from the
/// last rank that needs it straight to the rank where it came in; there they join the sum of the nodes
/// before, which walks one node on while the next turn is computed, and home from the last node.
Gradients double_ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem, int node,
                               const Buffer& q, const KvBlock& kv, const Output& output, const Buffer& dout);

/// The expected cost of a pass, with M ranks in each of G nodes and full attention: (M - 1) G blocks out of
/// every rank over inner links and G - 1 over outer ones, N - 1 together as in a ring; backward, sums of
/// gradients besides, as many of them but one more at the end of each turn (M > 1) and of the walk (G > 1).
Theory double_ring_theory(const Problem& problem, int node, Pass pass, RoleBytes bytes);

}  // namespace ringcraft
