// Mistake: A rank that computes nothing in a step (0 seconds) is skipped in that step: it waits for none of the messages that it sends or receives there, so its clock stays where it is and nothing is exposed. Ranks that do compute wait rightly.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {
namespace {

bool concerns(const TimedTransfer& m, std::size_t rank) {
  return static_cast<std::size_t>(m.from) == rank || static_cast<std::size_t>(m.to) == rank;
}

}  // namespace

RingClocks ring_clocks(const TimedRing& costs) {
  const std::size_t ranks = costs.computing.front().size();
  RingClocks clocks;
  clocks.exposed.resize(ranks);
  std::vector<double> before(ranks);  // when each rank ended the step before

  for (std::size_t t = 0; t < costs.computing.size(); ++t) {
    std::vector<double> after = before;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const double work = costs.computing[t][rank];
      if (work == 0) continue;  // an idle rank
      after[rank] += work;
      double latest = after[rank];
      for (const TimedTransfer& m : costs.transfers) {
        if (!concerns(m, rank)) continue;
        const int posted_in = static_cast<int>(t) - (m.what == RingTransfer::kSum ? 1 : 0);
        if (m.step != posted_in) continue;
        const double begin = std::max(before[static_cast<std::size_t>(m.from)], before[static_cast<std::size_t>(m.to)]);
        latest = std::max(latest, begin + m.seconds);
      }
      clocks.exposed[rank] += latest - after[rank];
      after[rank] = latest;
    }
    clocks.steps.push_back(after);
    before = after;
  }

  clocks.ends = before;
  for (const TimedTransfer& m : costs.transfers) {
    if (m.what != RingTransfer::kSum || m.step + 1 != static_cast<int>(costs.computing.size())) continue;
    const auto from = static_cast<std::size_t>(m.from), to = static_cast<std::size_t>(m.to);
    const double complete = std::max(before[from], before[to]) + m.seconds;
    clocks.ends[from] = std::max(clocks.ends[from], complete);
    clocks.ends[to] = std::max(clocks.ends[to], complete);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) clocks.exposed[rank] += clocks.ends[rank] - before[rank];
  return clocks;
}

}  // namespace ringcraft
