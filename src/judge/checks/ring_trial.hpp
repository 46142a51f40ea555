#pragma once
/// @file
/// A ring of workers: gives every rank its shard, calls ring_forward or ring_backward, and compares the
/// replies with the oracle and the traffic with the theory. Shared by the lessons whose exercise is, or
/// drives, a ring.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "judge/checks/lesson.hpp"
#include "ringcraft/ring/messages.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::judge {

/// Few rows of many heads: of 16 ranks each holds half a MB of keys and values, and next to no scores.
inline constexpr Shape kLargeBlocks{1, 128, 128, 64, 64};  // batch, heads, kv_heads, seqlen, head_dim

/// The answers of a ring of workers.
struct RingRun {
  std::vector<Answer<RingOutput>> answers;  ///< per rank
  CallRecord record;                        ///< the traffic, measured by the judge
};

/// Runs one case, float64, on one worker per rank. Every error is thrown with the case's
/// name in front.
RingRun run_ring(Trial& trial, const verify::Case& c, DeliveryOptions delivery = {});

/// Throws Wrong unless out and lse have the right extents and, in exact mode, the oracle's values.
void require_right(const verify::Case& c, const RingRun& run);

/// run_ring and require_right.
RingRun require_right_ring(Trial& trial, const verify::Case& c, DeliveryOptions delivery = {});
/// The same for the library's ring around a function of another exercise. Its numbers show that something is
/// wrong, and no diagnosis gets them: it would look for the mistake in the ring.
void require_driven_ring(Trial& trial, const verify::Case& c);

/// The bytes of k and v of a rank (counted modulo the number of ranks) in float64.
Index block_bytes(const Problem& problem, int rank);

/// Bytes that each link carries when KV blocks move on by `steps` ranks, to the next rank (direction 1) or to
/// the previous one (-1): bytes[from * N + to]. A block is rows x kv_heads x head_dim x batch x 2 x 8 bytes.
std::vector<Index> ring_bytes(const Problem& problem, int steps, int direction);

/// Bytes that each link carries when no message goes beyond the reach of its block, as the library has it.
std::vector<Index> routed_bytes(const Problem& problem, Pass pass, Schedule schedule);

/// A ring may send every block through all hops (`all`), or no further than it is needed (`routed`): the one
/// that this record is to be compared with. That is `routed` unless a link carried more.
const std::vector<Index>& plan_of(const CallRecord& record, const std::vector<Index>& routed,
                                  const std::vector<Index>& all);

// ---- backward

/// The answers of a ring of workers to ring_backward.
struct RingBackwardRun {
  verify::Case c;  ///< the problem; its name contains the schedule
  Schedule schedule;
  verify::Oracle want;                         ///< its out and lse were given to the workers
  std::vector<Answer<RingGradients>> answers;  ///< per rank
  CallRecord record;                           ///< what moved, measured by the judge
};

/// Runs the backward pass of one case, float64, on one worker per rank. The workers get the oracle's out and
/// lse, and the block that the schedule starts with. Every error is thrown with the case's name in front.
RingBackwardRun run_ring_backward(Trial& trial, const verify::Case& c, Schedule schedule,
                                  DeliveryOptions delivery = {});

/// Throws Wrong unless dq, dk and dv have the right extents and, in exact mode, the oracle's values.
void require_right(const RingBackwardRun& run);

/// run_ring_backward and require_right.
RingBackwardRun require_right_backward(Trial& trial, const verify::Case& c, Schedule schedule,
                                       DeliveryOptions delivery = {});

/// Bytes that each link carries in the backward pass: every block and the sum of its gradients move hops(p)
/// ranks on (kForward) or back (kReversed); the sums of kForward then go straight to their owner. With
/// direction -1 on and back are exchanged.
std::vector<Index> ring_backward_bytes(const Problem& problem, Schedule schedule, int direction = 1);

/// The first link that carried other bytes than theory says (sign::kCounts), if there is one.
std::optional<Wrong> other_bytes(const CallRecord& record, const std::vector<Index>& theory);

// ---- for a diagnosis

/// The operations that each rank had started when a call ended before all ranks had answered. `block` is the
/// size of each rank's own block in bytes.
verify::TravelExhibit stuck_exhibit(const Misbehaviour& misbehaviour, int ranks, int exchanges,
                                    std::vector<Index> block);

/// Runs `action`, a ring of this problem. If it does not end, or a rank throws, returns the operations that
/// each rank had started until then; otherwise null.
verify::Exhibit exhibit_of_stuck(const Problem& problem, const std::function<void()>& action);

/// For a call that is right under the usual conditions: whether it is wrong if bytes leave late, if messages
/// arrive in another order, or if it is repeated. `make` makes it and throws Wrong; null if it is always
/// right, or never.
verify::Exhibit exhibit_of_turns(const std::function<CallRecord(DeliveryOptions)>& make);

}  // namespace ringcraft::judge
