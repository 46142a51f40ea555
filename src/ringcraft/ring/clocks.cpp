// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {

RingClocks ring_clocks(const TimedRing& costs) {
  // BEGIN SOLUTION 305 [ring_clocks]
  const std::size_t ranks = costs.computing.front().size();
  const int steps = static_cast<int>(costs.computing.size());
  std::vector<double> clock(ranks, 0.0), sums_posted;
  RingClocks result{{}, {}, std::vector<double>(ranks, 0.0)};
  const auto wait = [&](int step, RingTransfer::What what, const std::vector<double>& posted) {
    for (const TimedTransfer& transfer : costs.transfers) {
      if (transfer.step != step || transfer.what != what) continue;
      const auto from = static_cast<std::size_t>(transfer.from), to = static_cast<std::size_t>(transfer.to);
      const double complete = std::max(posted[from], posted[to]) + transfer.seconds;
      for (const std::size_t rank : {from, to}) {
        result.exposed[rank] += std::max(0.0, complete - clock[rank]);
        clock[rank] = std::max(clock[rank], complete);
      }
    }
  };
  for (int step = 0; step < steps; ++step) {
    const std::vector<double> blocks_posted = clock;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      clock[rank] += costs.computing[static_cast<std::size_t>(step)][rank];
    wait(step - 1, RingTransfer::kSum, sums_posted);
    wait(step, RingTransfer::kBlock, blocks_posted);
    sums_posted = clock;
    result.steps.push_back(clock);
  }
  wait(steps - 1, RingTransfer::kSum, sums_posted);
  result.ends = clock;
  return result;
  // END SOLUTION [ring_clocks]
}

}  // namespace ringcraft
