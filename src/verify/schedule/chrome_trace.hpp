#pragma once
/// @file
/// Exports a trace as JSON in Chrome's trace event format, which https://ui.perfetto.dev and chrome://tracing
/// draw. One process per rank; in it a row for the rank's actions (compute, start, wait), a row per message
/// in flight, and its memory as a curve; arrows lead from sends to receives.

#include <string>

#include "verify/schedule/replay.hpp"

namespace ringcraft::verify {

/// The clock on the picture's time axis.
enum class TraceClock : std::uint8_t {
  kWall,     ///< real time
  kVirtual,  ///< virtual time, exact if computing and links have a cost
};

/// The JSON text. `replayed` is the replay of this trace; blocks carry the names that it found.
std::string chrome_json(const Trace& trace, const Replay& replayed, TraceClock clock = TraceClock::kWall);

}  // namespace ringcraft::verify
