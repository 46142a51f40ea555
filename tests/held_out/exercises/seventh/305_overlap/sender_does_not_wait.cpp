// Mistake: Only the rank that receives a message waits for it; the one that sends goes on as soon as it has posted, for blocks and for sums. So a sender is never held up by its own message.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {

RingClocks ring_clocks(const TimedRing& costs) {
  const int steps = int(costs.computing.size());
  const int n = int(costs.computing[0].size());
  RingClocks c;
  std::vector<double> old(n, 0), start(n, 0), busy(n, 0);

  // done(r): when the messages that rank r gets in this step are all there
  auto done = [&](int r, int step, RingTransfer::What what, const std::vector<double>& posted) {
    double latest = 0;
    for (auto& m : costs.transfers)
      if (m.step == step && m.what == what && m.to == r)
        latest = std::max(latest, std::max(posted[m.from], posted[m.to]) + m.seconds);
    return latest;
  };

  for (int t = 0; t < steps; t++) {
    start = old;
    std::vector<double> next(n);
    for (int r = 0; r < n; r++) {
      busy[r] += costs.computing[t][r];
      double e = start[r] + costs.computing[t][r];
      if (t > 0) e = std::max(e, done(r, t - 1, RingTransfer::kSum, start));
      e = std::max(e, done(r, t, RingTransfer::kBlock, start));
      next[r] = e;
    }
    c.steps.push_back(next);
    old = next;
  }
  c.ends = old;
  for (int r = 0; r < n; r++) c.ends[r] = std::max(old[r], done(r, steps - 1, RingTransfer::kSum, old));
  for (int r = 0; r < n; r++) c.exposed.push_back(c.ends[r] - busy[r]);
  return c;
}

}  // namespace ringcraft
