#pragma once
/// @file
/// Replays a trace without data. Messages meet as rendezvous, ranks wait for them, and the contents of memory
/// are symbols (K2: the keys of rank 2's block) that messages and additions carry along. The block that a
/// rank computes on is therefore derived, not trusted; anything that no right run could do is a Violation.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/problem/problem.hpp"
#include "verify/schedule/symbolic_memory.hpp"

namespace ringcraft::verify {

/// Promises of a schedule.
enum class ScheduleClaim : std::uint8_t {
  kMessages,   ///< every send has its receive, of the same length, and brings the expected block
  kProgress,   ///< no rank waits forever
  kMemory,     ///< no buffer is read or overwritten while a message uses it
  kPairs,      ///< every visible pair is computed exactly once
  kGradients,  ///< the gradient of every block ends at its owner, with each rank's share exactly once
  kCosts,      ///< bytes, hops and memory are those of ring/theory.hpp
};
/// All of them, in the order of their checks.
inline constexpr ScheduleClaim kScheduleClaims[] = {ScheduleClaim::kMessages,  ScheduleClaim::kProgress,
                                                    ScheduleClaim::kMemory,    ScheduleClaim::kPairs,
                                                    ScheduleClaim::kGradients, ScheduleClaim::kCosts};

/// A broken promise, in one sentence that names ranks, step and object.
struct Violation {
  ScheduleClaim claim = ScheduleClaim::kMessages;
  std::string sentence;
};

/// The author's annotation of one event. A recording has no notes.
struct ScheduleNote {
  int step = 0;                    ///< the step of the event
  int line = 0;                    ///< of the schedule's text
  std::vector<std::string> names;  ///< kStart: contents of each message; kForward, kBackward: the block
};
/// By rank and event; empty for a recording.
using ScheduleNotes = std::vector<std::vector<ScheduleNote>>;

/// Facts that the replay derives about one event.
struct ReplayedEvent {
  bool reached = false;             ///< false: the ranks were stuck before it
  int step = 0;                     ///< number of blocks computed before it; from a note if there is one
  int rounds = 0;                   ///< messages that end before it, one after another
  std::vector<std::string> labels;  ///< kStart: contents of each message, "K2" or "12 bytes"
  std::string block;                ///< kForward, kBackward, kAdd: "K2", "dK2"; empty if unknown
  std::optional<Content> queries;   ///< kForward, kBackward: if it is known
  std::optional<Content> keys;      ///< kForward, kBackward: if it is known
};

/// One block computed by one rank.
struct Computation {
  int rank = 0;
  int step = 0;
  bool backward = false;
  int block = 0;    ///< whose keys and values
  int queries = 0;  ///< whose queries: a rank, or a row of neighbours
  Heads heads;      ///< of the queries
};

/// One gradient in the memory of a rank at the end.
struct HeldGradient {
  int rank = 0;
  Content content;
  std::size_t written = 0;  ///< larger for sums that the rank wrote, added to or received later
};

/// A result that a rank states.
struct GivenResult {
  int rank = 0;
  Content::Kind kind = Content::kOutput;
  bool whole = false;                                        ///< every row is the rank's own
  std::vector<std::pair<Content, std::vector<Index>>> sums;  ///< that are in it, and the heads from each
};

/// The result of a replay.
struct Replay {
  std::vector<std::vector<ReplayedEvent>> events;  ///< by rank, as in the trace
  std::vector<Violation> violations;      ///< of messages, progress, memory, and of single computations
  std::vector<Computation> computations;  ///< those with visible pairs
  std::vector<HeldGradient> gradients;    ///< whole ones, at the end
  std::vector<GivenResult> given;         ///< those stated, in the order of the ranks' events
  bool states_results = false;            ///< some rank states a result
  bool complete = false;                  ///< every rank reached its end
};

/// Replays a trace of this problem. `notes` is empty, or shaped as the trace. `degree` neighbours deal heads
/// among each other, and compute with the tokens of all of them; 1: no rank does.
Replay replay(const Trace& trace, const Problem& problem, const ScheduleNotes& notes = {}, int degree = 1);

}  // namespace ringcraft::verify
