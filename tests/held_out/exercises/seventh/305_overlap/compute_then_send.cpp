// Mistake: Two mistakes. (1) Blocks are posted after the computing of their step instead of before it, so nothing of a hop is ever hidden. (2) exposed counts only what a rank waits for as a receiver; as a sender it waits, but the seconds are not booked.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {

RingClocks ring_clocks(const TimedRing& costs) {
  const auto ranks = costs.computing.front().size();
  const int steps = static_cast<int>(costs.computing.size());
  RingClocks r;
  r.exposed.assign(ranks, 0);
  r.ends.assign(ranks, 0);
  auto& t = r.ends;

  auto wait_all = [&](RingTransfer::What what, int step, const std::vector<double> posted) {
    for (const auto& m : costs.transfers) {
      if (m.what != what || m.step != step) continue;
      const auto i = static_cast<std::size_t>(m.from), j = static_cast<std::size_t>(m.to);
      const double complete = std::max(posted[i], posted[j]) + m.seconds;
      r.exposed[j] += std::max(complete - t[j], 0.0);
      t[i] = std::max(t[i], complete);
      t[j] = std::max(t[j], complete);
    }
  };

  std::vector<double> ended = t;
  for (int s = 0; s < steps; ++s) {
    for (std::size_t k = 0; k < ranks; ++k) t[k] += costs.computing[static_cast<std::size_t>(s)][k];
    const std::vector<double> computed = t;
    wait_all(RingTransfer::kSum, s - 1, ended);
    wait_all(RingTransfer::kBlock, s, computed);
    ended = t;
    r.steps.push_back(t);
  }
  wait_all(RingTransfer::kSum, steps - 1, ended);
  return r;
}

}  // namespace ringcraft
