#pragma once
/// @file
/// The schedule checker: is this plan of messages and computations a right ring attention? It replays a trace
/// without data and proves that messages meet, no rank waits forever, no buffer is touched while a message
/// uses it, every visible pair is computed exactly once and every gradient returns home with each rank's
/// share exactly once; on request also that the costs are those of a method, and in a ring that no block and
/// no sum goes where no rank further along needs it. Since messages are first in first out between two ranks
/// and no rank ever chooses, one replay stands for every timing. The trace comes from a recorded run or from
/// a text that a person wrote (schedule_text.hpp).

#include <optional>
#include <string>
#include <vector>

#include "ringcraft/parallel/method.hpp"
#include "verify/report/report.hpp"
#include "verify/schedule/replay.hpp"

namespace ringcraft::verify {

/// The closed forms that a pass is compared with: those of a method, and of a ring how often each block
/// moves on.
struct PassCosts {
  Pass pass = Pass::kForward;
  MethodOptions options = {};          ///< of the method; a ring's schedule is that of the backward pass
  RoleBytes bytes{1, 1};               ///< of the engine that ran the pass
  bool one_message_per_block = false;  ///< K and V travel together
  const Method* method = &kRing;       ///< that ran
};

/// The goal that a trace must reach.
struct ScheduleGoal {
  bool forward = true;             ///< out of every query
  bool backward = false;           ///< dq of every query, dk and dv of every key
  std::optional<PassCosts> costs;  ///< at this cost; empty: at any
  int degree = 1;                  ///< neighbours that deal heads among each other (parallel/hybrid)
  bool results = false;            ///< every rank states its results; else if any does, or if heads are dealt
};

/// The degree of a method: the neighbours that it deals heads to, 1 if it deals none.
int dealing_degree(const Method& method, const Problem& problem, const MethodOptions& options);
/// Whether it copies rows and heads. A trace without details does not tell where these go, and does not prove
/// it.
bool moves_heads(const Method& method, const Problem& problem, const MethodOptions& options);

/// The verdict.
struct ScheduleProof {
  Replay replay;
  std::vector<Violation> violations;  ///< of the replay and of the goal, in the order of the claims

  /// Nothing is wrong.
  bool good() const { return violations.empty(); }
  /// Whether a violation breaks this claim.
  bool broken(ScheduleClaim claim) const;
};

/// Checks a trace of `problem` against its goal. After a deadlock it does not check pairs, gradients and
/// costs.
ScheduleProof prove_schedule(const Trace& trace, const Problem& problem, const ScheduleGoal& goal,
                             const ScheduleNotes& notes = {});

/// One row per claim: the proof for people.
Report report_of(const ScheduleProof& proof, const ScheduleGoal& goal, const std::string& title);

}  // namespace ringcraft::verify
