// Mistake: The step of a sum is read as the step under which it travels: the sums numbered t are posted when step t begins (at the end of step t - 1) and waited for in step t, together with the blocks, instead of one step later. So after the last step there is nothing left to wait for.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {

RingClocks ring_clocks(const TimedRing& costs) {
  RingClocks out;
  const std::size_t n = costs.computing.front().size();
  out.exposed.assign(n, 0.0);
  std::vector<double> now(n, 0.0);

  for (std::size_t t = 0; t < costs.computing.size(); ++t) {
    const std::vector<double> posted = now;  // of this step's blocks, and of sums on their way
    std::vector<double> until = now;
    for (std::size_t r = 0; r < n; ++r) until[r] = now[r] += costs.computing[t][r];
    for (const TimedTransfer& m : costs.transfers) {
      if (static_cast<std::size_t>(m.step) != t) continue;
      const auto from = static_cast<std::size_t>(m.from), to = static_cast<std::size_t>(m.to);
      const double complete = std::max(posted[from], posted[to]) + m.seconds;
      until[from] = std::max(until[from], complete);
      until[to] = std::max(until[to], complete);
    }
    for (std::size_t r = 0; r < n; ++r) out.exposed[r] += until[r] - now[r];
    now = until;
    out.steps.push_back(now);
  }
  out.ends = now;
  return out;
}

}  // namespace ringcraft
