#pragma once
/// @file
/// Replay: a trace run once more, without data. Messages meet as rendezvous, ranks wait for them, and the
/// contents of memory are symbols (K2: the keys of rank 2's block) that messages and additions carry along.
/// What a rank computes on is therefore derived, not believed; whatever no right run could do is a Violation.

#include <string>
#include <vector>

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/problem/problem.hpp"
#include "verify/schedule/symbolic_memory.hpp"

namespace ringcraft::verify {

/// What a schedule promises.
enum class ScheduleClaim : std::uint8_t {
  kMessages,   ///< every send has its receive, of the same length, and brings what it should
  kProgress,   ///< no rank waits for ever
  kMemory,     ///< no buffer is read or overwritten while it is under way
  kPairs,      ///< every visible pair is computed exactly once
  kGradients,  ///< the gradient of every block ends at its owner, with the share of each rank exactly once
  kCosts,      ///< bytes, hops and memory are those of ring/theory.hpp
};
/// All of them, in the order of their checks.
inline constexpr ScheduleClaim kScheduleClaims[] = {ScheduleClaim::kMessages,  ScheduleClaim::kProgress,
                                                    ScheduleClaim::kMemory,    ScheduleClaim::kPairs,
                                                    ScheduleClaim::kGradients, ScheduleClaim::kCosts};

/// A broken promise, in one sentence that names ranks, step and what.
struct Violation {
  ScheduleClaim claim = ScheduleClaim::kMessages;
  std::string sentence;
};

/// What the author of a schedule says about one event. A recording has no notes.
struct ScheduleNote {
  int step = 0;                    ///< the step that the event belongs to
  int line = 0;                    ///< of the author's text
  std::vector<std::string> names;  ///< kStart: what each message carries; kForward, kBackward: the block
};
/// By rank and event; empty for a recording.
using ScheduleNotes = std::vector<std::vector<ScheduleNote>>;

/// What the replay found out about one event.
struct ReplayedEvent {
  bool reached = false;             ///< false: the ranks got stuck before it
  int step = 0;                     ///< turns of computing before it; from a note where there is one
  std::vector<std::string> labels;  ///< kStart: what each message carries, "K2" or "12 bytes"
  std::string block;                ///< kForward, kBackward, kAdd: "K2", "dK2"; empty if it could not be told
};

/// One block computed by one rank.
struct Computation {
  int rank = 0;
  int step = 0;
  bool backward = false;
  int block = 0;  ///< whose keys and values
};

/// One gradient that lies in the memory of a rank at the end.
struct HeldGradient {
  int rank = 0;
  Content content;
  std::size_t written = 0;  ///< larger for what the rank wrote, added to or received later
};

/// What a trace turns out to be.
struct Replay {
  std::vector<std::vector<ReplayedEvent>> events;  ///< by rank, as in the trace
  std::vector<Violation> violations;      ///< of messages, progress, memory, and of single computations
  std::vector<Computation> computations;  ///< those with visible pairs
  std::vector<HeldGradient> gradients;    ///< whole ones, at the end
  bool complete = false;                  ///< every rank reached its end
};

/// Replays a trace of this problem. `notes` is empty, or as the trace.
Replay replay(const Trace& trace, const Problem& problem, const ScheduleNotes& notes = {});

}  // namespace ringcraft::verify
