#pragma once
/// @file
/// The picture of a trace as data: for every rank, what it did when, without gaps and overlaps, and its sums;
/// and every message from its send to the end of its receive. Drawings (a terminal, SVG) only place it.

#include <array>
#include <vector>

#include "verify/schedule/trace_clock.hpp"

namespace ringcraft::verify {

/// The occupation of a rank at one moment. Waiting goes before computing, computing before copying.
enum class Activity : std::uint8_t {
  kCompute,  ///< it computes, and none of its messages is under way
  kOverlap,  ///< it computes while messages are under way: they cost no time
  kCopy,     ///< it starts messages, or they are under way while it does nothing that was recorded
  kWait,     ///< it waits for messages
  kIdle,     ///< nothing that was recorded
};
/// All of them.
inline constexpr std::array kActivities{Activity::kCompute, Activity::kOverlap, Activity::kCopy,
                                        Activity::kWait, Activity::kIdle};

/// A time in which a rank did one thing.
struct Stretch {
  Activity activity = Activity::kIdle;
  double begin = 0;  ///< seconds from the timeline's begin
  double end = 0;    ///< after begin
};

/// One rank. Its stretches follow each other from 0 to the end of the timeline; neighbours differ.
struct Lane {
  std::vector<Stretch> stretches;
  std::array<double, kActivities.size()> seconds{};  ///< in each activity
  double starting = 0;                               ///< seconds in the calls that start messages
  Index bytes_sent = 0;                              ///< bytes
  Index messages_sent = 0;                           ///< that are not empty
  Index peak_bytes = 0;  ///< of its buffers, where an event begins; 0: not metered

  /// Seconds in this activity.
  double in(Activity activity) const { return seconds[static_cast<std::size_t>(activity)]; }
  /// Seconds of computing, with messages under way or not.
  double computing() const { return in(Activity::kCompute) + in(Activity::kOverlap); }
};

/// A message between two ranks.
struct Arrow {
  int from = 0, to = 0;
  double sent = 0;      ///< seconds: its send began
  double received = 0;  ///< seconds: the wait for its receive ended
};

/// The picture.
struct Timeline {
  double seconds = 0;         ///< from the first event to the end of the last
  std::vector<Lane> lanes;    ///< by rank
  std::vector<Arrow> arrows;  ///< messages that were received
};

/// The timeline of a trace on one of its clocks.
Timeline timeline_of(const Trace& trace, TraceClock clock = TraceClock::kWall);

/// At most `most` ranks that stand for all: the first ones, the last ones, and those that compute longest.
/// Increasing.
std::vector<int> typical_ranks(const Timeline& timeline, std::size_t most);

}  // namespace ringcraft::verify
