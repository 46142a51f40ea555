#pragma once
/// @file
/// The clock on the time axis of a picture of a trace.

#include "ringcraft/comm/trace.hpp"

namespace ringcraft::verify {

/// One of the two clocks that a trace keeps.
enum class TraceClock : std::uint8_t {
  kWall,     ///< real time
  kVirtual,  ///< virtual time, exact if computing and links have a cost
};

/// Seconds on this clock.
inline double seconds_on(TraceClock clock, const TraceTime& time) {
  return clock == TraceClock::kWall ? time.wall : time.virtual_;
}

}  // namespace ringcraft::verify
