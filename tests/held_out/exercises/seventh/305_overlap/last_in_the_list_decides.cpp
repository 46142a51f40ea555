// Mistake: Each message of a step sets the clocks of its ranks to the later of the end of the computing and its own end, and forgets what messages before it in the list had set: of several messages of a rank in a step (blocks and sums together) the last one in the list decides, not the latest.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {

RingClocks ring_clocks(const TimedRing& costs) {
  const std::size_t n = costs.computing.front().size();
  const std::size_t steps = costs.computing.size();
  RingClocks out{.steps = {}, .ends = std::vector<double>(n, 0), .exposed = std::vector<double>(n, 0)};
  std::vector<double>& clock = out.ends;

  // One pass more than there are steps: in the last one nothing computes, and only sums are under way.
  for (std::size_t t = 0; t <= steps; ++t) {
    const std::vector<double> posted = clock;
    std::vector<double> computed = clock;
    if (t < steps)
      for (std::size_t r = 0; r < n; ++r) computed[r] += costs.computing[t][r];
    clock = computed;
    for (const TimedTransfer& m : costs.transfers) {
      const std::size_t under = static_cast<std::size_t>(m.step) + (m.what == RingTransfer::kSum ? 1 : 0);
      if (under != t) continue;
      const std::size_t a = static_cast<std::size_t>(m.from), b = static_cast<std::size_t>(m.to);
      const double complete = std::max(posted[a], posted[b]) + m.seconds;
      clock[a] = std::max(computed[a], complete);
      clock[b] = std::max(computed[b], complete);
    }
    for (std::size_t r = 0; r < n; ++r) out.exposed[r] += clock[r] - computed[r];
    if (t < steps) out.steps.push_back(clock);
  }
  return out;
}

}  // namespace ringcraft
