#pragma once
/// @file
/// Exports a trace as JSON in Chrome's trace event format, which https://ui.perfetto.dev and chrome://tracing
/// draw. One process per rank; in it a row for the rank's actions (compute, start, wait), a row per message
/// in flight, and its memory as a curve; arrows lead from sends to receives.

#include <string>

#include "verify/schedule/replay.hpp"
#include "verify/schedule/trace_clock.hpp"

namespace ringcraft::verify {

/// The list of trace events as JSON, one to a line: the member "traceEvents" of such a file (trace_file.hpp
/// writes it). `replayed` is the replay of this trace; blocks carry the names that it found.
std::string chrome_events(const Trace& trace, const Replay& replayed, TraceClock clock = TraceClock::kWall);

}  // namespace ringcraft::verify
