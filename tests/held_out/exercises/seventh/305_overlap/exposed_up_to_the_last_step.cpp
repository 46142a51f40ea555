// Mistake: exposed is taken from the end of the last step (last clock minus all computing), so the seconds in which a rank waits for the sums of the last step are not in it. steps and ends are right.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcraft {
namespace {

// When rank r ends step t: a recursion of maximum and sum. Step -1 is the start.
class Recursion {
 public:
  explicit Recursion(const TimedRing& costs) : costs_(costs), known_(costs.computing.size()) {}

  double end(int step, int rank) {
    if (step < 0) return 0;
    std::vector<double>& row = known_[static_cast<std::size_t>(step)];
    if (row.empty()) row.assign(costs_.computing[0].size(), -1.0);
    double& value = row[static_cast<std::size_t>(rank)];
    if (value >= 0) return value;
    double latest = end(step - 1, rank) + costs_.computing[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)];
    for (const TimedTransfer& m : costs_.transfers) {
      const int under = m.what == RingTransfer::kBlock ? m.step : m.step + 1;
      if (under == step && (m.from == rank || m.to == rank)) latest = std::max(latest, complete(m, step - 1));
    }
    return value = latest;
  }

  // When the message is complete that both ranks have posted at the end of this step.
  double complete(const TimedTransfer& m, int posted) {
    return std::max(end(posted, m.from), end(posted, m.to)) + m.seconds;
  }

 private:
  const TimedRing& costs_;
  std::vector<std::vector<double>> known_;
};

}  // namespace

RingClocks ring_clocks(const TimedRing& costs) {
  const int steps = static_cast<int>(costs.computing.size()), last = steps - 1;
  const int ranks = static_cast<int>(costs.computing[0].size());
  Recursion clock(costs);
  RingClocks out;
  out.steps.resize(costs.computing.size());
  for (int rank = 0; rank < ranks; ++rank) {
    double work = 0;
    for (int step = 0; step < steps; ++step) {
      const auto t = static_cast<std::size_t>(step);
      out.steps[t].push_back(clock.end(step, rank));
      work += costs.computing[t][static_cast<std::size_t>(rank)];
    }
    double end = clock.end(last, rank);
    out.exposed.push_back(end - work);
    for (const TimedTransfer& m : costs.transfers)
      if (m.what == RingTransfer::kSum && m.step == last && (m.from == rank || m.to == rank))
        end = std::max(end, clock.complete(m, last));
    out.ends.push_back(end);
  }
  return out;
}

}  // namespace ringcraft
