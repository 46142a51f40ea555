#pragma once
/// @file
/// The expected cost of a ring run, computed from the problem alone: exchanges, bytes, peak memory, visible
/// pairs and time. These are the closed forms that measured figures stand beside. Nothing here looks at what
/// a run has counted.

#include "ringcraft/engine/theory.hpp"
#include "ringcraft/problem/problem.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

/// Exchanges of gradients in the backward pass: with C = hops(problem), C of them; one more for kForward if C
/// >= 1, straight to the owner. KV blocks make C exchanges in either pass.
int dkv_exchanges(const Problem& problem, Schedule schedule);

/// The forward pass: C exchanges; bytes and messages are those of ring_messages (messages.hpp). Peak: q, k,
/// v; O, m, l; min(C, 2) ring buffers of the largest shard.
Theory forward_theory(const Problem& problem, RoleBytes bytes);

/// The backward pass. kForward: C exchanges of KV and, if C >= 1, C + 1 of dKV; kReversed: C and C; bytes and
/// messages are those of ring_messages. Peak: q, out, dout, dq; lse, delta; the first KV block and min(C, 2)
/// ring buffers; dKV once for C = 0, else three times. The first block of kReversed is what the forward pass
/// held last, so it is a ring buffer if C >= 1, and the rank's own k and v are counted only where it keeps
/// them. A rank whose block stops before C hops keeps its own k and v (kReversed), or dKV once more
/// (kForward).
Theory backward_theory(const Problem& problem, Schedule schedule, RoleBytes bytes);

/// Peak elements of the ranks that hold most when all shards have the same length: 2Q + 2L + 2K (1 + min(C,
/// 2)) forward and 4Q + 2L + 2K (1 + min(C, 2)) + 2K (C = 0 ? 1 : 3) backward, 2K more if a block stops
/// before C hops, with c = seqlen / N, Q = batch heads c head_dim, K = batch kv_heads c head_dim and L =
/// batch heads c. Throws Error if N does not divide seqlen.
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
/// 1). Throws Error unless the computation hides both transfers (at most `compute` each): beyond that there
/// is no such form, and ring_clocks (clocks.hpp) has the answer.
double backward_time(int hops, Schedule schedule, StepTime time);

}  // namespace ringcraft
