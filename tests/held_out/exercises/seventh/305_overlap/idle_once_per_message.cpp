// Mistake: exposed adds for every message the time from the end of the computing to the end of that message, so seconds in which a rank waits for several messages at once (its send and its receive, a block and a sum) count several times. steps and ends are right.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {

RingClocks ring_clocks(const TimedRing& costs) {
  RingClocks result;
  const std::size_t world = costs.computing.front().size();
  result.exposed.assign(world, 0);
  std::vector<double> time(world, 0);

  const auto exchange = [&](const std::vector<double>& posted, auto&& belongs) {
    const std::vector<double> computed = time;
    for (const TimedTransfer& message : costs.transfers) {
      if (!belongs(message)) continue;
      const int pair[2] = {message.from, message.to};
      double start = 0;
      for (const int rank : pair) start = std::max(start, posted[static_cast<std::size_t>(rank)]);
      const double end = start + message.seconds;
      for (const int rank : pair) {
        const auto r = static_cast<std::size_t>(rank);
        result.exposed[r] += std::max(0.0, end - computed[r]);
        time[r] = std::max(time[r], end);
      }
    }
  };

  int t = 0;
  for (; t < static_cast<int>(costs.computing.size()); ++t) {
    const std::vector<double> posted = time;
    for (std::size_t r = 0; r < world; ++r) time[r] += costs.computing[static_cast<std::size_t>(t)][r];
    exchange(posted, [&](const TimedTransfer& m) {
      return m.what == RingTransfer::kBlock ? m.step == t : m.step == t - 1;
    });
    result.steps.push_back(time);
  }
  exchange(std::vector<double>(time),
           [&](const TimedTransfer& m) { return m.what == RingTransfer::kSum && m.step == t - 1; });
  result.ends = time;
  return result;
}

}  // namespace ringcraft
