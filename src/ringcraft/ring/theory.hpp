#pragma once
/// @file
/// What a ring run must cost, computed from the problem alone: exchanges, bytes, peak memory, visible pairs
/// and time. These are the closed forms that measured figures stand beside. Where shards differ in length the
/// figures are exact per rank. Nothing here looks at what a run has counted.

#include <cstddef>
#include <vector>

#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/problem/problem.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

/// Bytes of one number of each role. With {1, 1} all figures in bytes become figures in elements.
struct RoleBytes {
  std::size_t element;      ///< q, k, v, dout and the KV blocks that travel
  std::size_t accumulator;  ///< O (which becomes out), m, l, lse, delta, dq, dk, dv
};

/// The bytes of this engine's roles.
RoleBytes role_bytes(const BlockEngine& engine);

/// The figures of one pass of the ring. Vectors have one entry per rank.
struct RingTheory {
  int hops = 0;           ///< C, hops of the KV blocks
  int steps = 0;          ///< C + 1 turns of exchange and compute
  int kv_exchanges = 0;   ///< exchanges of KV blocks, the same on every rank
  int dkv_exchanges = 0;  ///< exchanges of their gradients, the last one of Schedule::kForward included
  std::vector<Index> bytes_sent;     ///< KV blocks and gradients together
  std::vector<Index> messages_sent;  ///< K and V are two messages; empty ones do not count
  std::vector<Index> peak_bytes;     ///< live buffers at once, the pass's own arguments included
  std::vector<Index> pairs;          ///< visible (query, key) pairs
  double imbalance = 0;              ///< 1 - mean / max of the pairs
};

/// The forward pass: C exchanges. Peak: q, k, v; O, m, l; min(C, 2) ring buffers of the largest shard.
RingTheory forward_theory(const Problem& problem, RoleBytes bytes);

/// The backward pass. kForward: C exchanges of KV and, if C >= 1, C + 1 of dKV; kReversed: C and C. Peak: q,
/// out, dout, dq; lse, delta; the first KV block and min(C, 2) ring buffers; dKV once for C = 0, else three
/// times. The first block of kReversed is what the forward pass held last, so it is a ring buffer if C >= 1,
/// and the rank's own k and v are not counted.
RingTheory backward_theory(const Problem& problem, Schedule schedule, RoleBytes bytes);

/// Attention with a distributed softmax instead of a ring (lesson 302): every rank holds all queries and its
/// own shard of keys and values, and for `rows_at_once` rows of a head at a time the ranks gather (m, l) and
/// their shares of out. No K or V moves. Peak: q, out and lse of the whole sequence, and the own k and v. A
/// pair belongs to the rank that owns its key.
RingTheory distributed_softmax_theory(const Problem& problem, RoleBytes bytes, Index rows_at_once);

/// Peak elements of a rank when all shards have the same length: 2Q + 2L + 2K (1 + min(C, 2)) forward and
/// 4Q + 2L + 2K (1 + min(C, 2)) + 2K (C = 0 ? 1 : 3) backward, with c = seqlen / N, Q = batch heads c
/// head_dim, K = batch kv_heads c head_dim and L = batch heads c. Throws Error if N does not divide seqlen.
Index peak_elements(const Problem& problem, Pass pass);

/// Seconds that the pieces of a step take when they are the same on every rank and at every step.
struct StepTime {
  double compute;       ///< one block
  double kv_transfer;   ///< one hop of a KV block
  double dkv_transfer;  ///< one hop of its gradients
};

/// Seconds of the forward pass on every rank: Tc + C max(Tc, Tkv).
double forward_time(int hops, StepTime time);

/// Seconds of the backward pass: (C + 1) Tc, and for kForward one more dKV hop that nothing hides (if C >=
/// 1). Throws Error unless both transfers hide behind the computation (at most `compute` each): beyond that
/// there is no such form.
double backward_time(int hops, Schedule schedule, StepTime time);

}  // namespace ringcraft
