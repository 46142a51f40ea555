#pragma once
/// @file
/// Files of traces: one JSON file that https://ui.perfetto.dev draws ("traceEvents") and that holds the whole
/// trace beside it ("ringcraft"), with the problem that it solved, so that anyone can draw it again and prove
/// its schedule later. Every number comes back with the same bits.

#include <string>

#include "verify/schedule/schedule.hpp"

namespace ringcraft::verify {

/// A run that was recorded.
struct TracedRun {
  Problem problem;                ///< the problem that it solved
  Pass last = Pass::kForward;     ///< kBackward: forward and backward
  std::string backend;            ///< where the ranks were: "threads", "mpi", ...
  double clock_error = 0;         ///< seconds by which the wall clocks of two ranks may differ
  Trace trace;                    ///< what every rank did
  const Method* method = &kRing;  ///< that ran
  MethodOptions options = {};     ///< with these choices
  /// Every rank states where its queries and results are. Files of the first format do not: rings alone.
  bool states_results = true;
  bool begins_sums = true;  ///< every rank states where its sums begin; files of the second format do not

  /// The goal that the trace must reach.
  ScheduleGoal goal() const {
    return {.backward = last == Pass::kBackward,
            .costs = {},
            .degree = dealing_degree(*method, problem, options),
            .results = states_results};
  }
};

/// Proves its schedule, and that every event ended and every tensor has the bytes that the problem gives it.
ScheduleProof prove_run(const TracedRun& run);

/// The text of the file. `replayed` is the replay of this trace.
std::string trace_text(const TracedRun& run, const Replay& replayed);

/// Reads such a text; `file` is its name for errors. Throws Error "FILE: PLACE: expected ..., got ...; ..."
/// for anything that trace_text does not write. The memory that it takes, and that a replay takes, is at most
/// proportional to the text.
TracedRun read_trace(const std::string& text, const std::string& file);

/// The events of one rank, in the same form: for a rank that sends them to another one.
std::string events_text(const RankTrace& rank);

/// Appends the events of such a text to the trace of `rank`, of a method that deals heads among `degree`
/// neighbours (1: among none). Throws Error as read_trace does.
void read_events(const std::string& text, const std::string& place, const Problem& problem, int degree,
                 int rank, RankTrace& into);

}  // namespace ringcraft::verify
