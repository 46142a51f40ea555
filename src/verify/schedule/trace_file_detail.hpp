#pragma once
/// @file
/// The parts of a trace file, shared by its source files; internal to the harness.
///   trace_file.cpp          the file: problem, pass, ranks
///   trace_file_events.cpp   the events of one rank

#include "verify/report/strict_json.hpp"
#include "verify/schedule/trace_file.hpp"

namespace ringcraft::verify {

/// The events that a run may have.
struct EventRules {
  const Problem& problem;
  int degree;          ///< neighbours that deal heads among each other
  bool copies;         ///< the method moves rows and heads
  bool states = true;  ///< queries and results are stated
  bool begins = true;  ///< and the beginnings of sums
};

/// Appends the events of a list to the trace of `rank`.
void read_events(const StrictJson& list, const EventRules& rules, int rank, RankTrace& into);

/// The advice for whatever is wrong in a file.
inline constexpr const char* kRecordAgain =
    "the file is damaged or from another program; record it again with ./ringcraft attend --trace";

}  // namespace ringcraft::verify
