// Mistake: The list of messages is read once from front to back, up to the first message of a later step, as if it were sorted by step: a message listed after one of a later step is awaited too late or, if its step is over, counts as one of the step that is read. (A message found so keeps its kind and ranks, but counts for the step in which it is met.)
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {

RingClocks ring_clocks(const TimedRing& costs) {
  const std::size_t n = costs.computing.front().size();
  const int steps = static_cast<int>(costs.computing.size());
  RingClocks out;
  out.exposed.assign(n, 0.0);
  std::vector<double> now(n, 0.0);
  std::vector<TimedTransfer> sums;  // posted at the end of the step before
  auto next = costs.transfers.begin();

  const auto wait = [&](const TimedTransfer& m, const std::vector<double>& posted) {
    const std::size_t ends[] = {static_cast<std::size_t>(m.from), static_cast<std::size_t>(m.to)};
    const double complete = std::max(posted[ends[0]], posted[ends[1]]) + m.seconds;
    for (const std::size_t r : ends) {
      if (complete <= now[r]) continue;
      out.exposed[r] += complete - now[r];
      now[r] = complete;
    }
  };

  for (int t = 0; t < steps; ++t) {
    const std::vector<double> posted = now;
    for (std::size_t r = 0; r < n; ++r) now[r] += costs.computing[static_cast<std::size_t>(t)][r];
    for (const TimedTransfer& m : sums) wait(m, posted);
    sums.clear();
    for (; next != costs.transfers.end() && next->step <= t; ++next)
      if (next->what == RingTransfer::kSum)
        sums.push_back(*next);
      else
        wait(*next, posted);
    out.steps.push_back(now);
  }
  const std::vector<double> posted = now;
  for (const TimedTransfer& m : sums) wait(m, posted);
  out.ends = now;
  return out;
}

}  // namespace ringcraft
