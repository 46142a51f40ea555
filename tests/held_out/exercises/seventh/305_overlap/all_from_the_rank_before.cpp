// Mistake: Every message is taken as one from rank (to - 1) mod N, whatever its `from` says: blocks that travel the other way and complete sums that go straight home begin at the clock of the wrong rank, and hold up that rank instead of the one that sends.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {

RingClocks ring_clocks(const TimedRing& costs) {
  const int n = static_cast<int>(costs.computing.front().size());
  const int steps = static_cast<int>(costs.computing.size());

  // lasting[t][r]: seconds of the message that rank r receives while step t computes, below 0 for none
  const auto table = [&](RingTransfer::What what, int later) {
    std::vector<std::vector<double>> seconds(static_cast<std::size_t>(steps) + 1, std::vector<double>(static_cast<std::size_t>(n), -1));
    for (const TimedTransfer& m : costs.transfers)
      if (m.what == what) {
        double& cell = seconds[static_cast<std::size_t>(m.step + later)][static_cast<std::size_t>(m.to)];
        cell = std::max(cell, m.seconds);
      }
    return seconds;
  };
  const auto blocks = table(RingTransfer::kBlock, 0), sums = table(RingTransfer::kSum, 1);

  RingClocks out;
  out.exposed.assign(static_cast<std::size_t>(n), 0.0);
  std::vector<double> clock(static_cast<std::size_t>(n), 0.0);
  for (int t = 0; t <= steps; ++t) {
    const std::vector<double> begin = clock;
    const auto wait = [&](int rank, double until) {
      double& now = clock[static_cast<std::size_t>(rank)];
      if (until > now) {
        out.exposed[static_cast<std::size_t>(rank)] += until - now;
        now = until;
      }
    };
    if (t < steps)
      for (std::size_t r = 0; r < clock.size(); ++r) clock[r] += costs.computing[static_cast<std::size_t>(t)][r];
    for (const auto* kind : {&sums, &blocks})
      for (int to = 0; to < n; ++to) {
        const double seconds = (*kind)[static_cast<std::size_t>(t)][static_cast<std::size_t>(to)];
        if (seconds < 0) continue;
        const int from = (to + n - 1) % n;
        const double complete = std::max(begin[static_cast<std::size_t>(from)], begin[static_cast<std::size_t>(to)]) + seconds;
        wait(from, complete);
        wait(to, complete);
      }
    if (t < steps) out.steps.push_back(clock);
  }
  out.ends = clock;
  return out;
}

}  // namespace ringcraft
