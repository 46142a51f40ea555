#pragma once
/// @file
/// A trace as a picture: JSON in Chrome's trace event format, which https://ui.perfetto.dev and
/// chrome://tracing draw. One process per rank; in it a row of what the rank does (compute, start, wait), a
/// row per message under way, and its memory as a curve; arrows lead from sends to receives.

#include <string>

#include "verify/schedule/replay.hpp"

namespace ringcraft::verify {

/// Which clock the picture's time axis shows.
enum class TraceClock : std::uint8_t {
  kWall,     ///< real time
  kVirtual,  ///< virtual time, exact where computing and links have a cost
};

/// The JSON text. `replayed` is the replay of this trace; blocks are called by the names that it found.
std::string chrome_json(const Trace& trace, const Replay& replayed, TraceClock clock = TraceClock::kWall);

}  // namespace ringcraft::verify
