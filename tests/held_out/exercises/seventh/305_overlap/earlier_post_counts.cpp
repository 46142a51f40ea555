// Mistake: A message begins when the first of its two ranks has posted it (the minimum of both clocks) instead of the second one (the maximum), so a late sender or a late receiver does not hold it up.
// Lesson 305: the clocks of all ranks, step by step. Computing adds to a clock; a wait sets it to the later
// of itself and the message.
#include "ringcraft/ring/clocks.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace ringcraft {
namespace {

using Clocks = std::vector<double>;

// The moment at which a message is through, from the clocks at which its ranks have posted it.
double arrival(const TimedTransfer& message, const Clocks& posted) {
  const double sender = posted[static_cast<std::size_t>(message.from)];
  const double receiver = posted[static_cast<std::size_t>(message.to)];
  return std::min(sender, receiver) + message.seconds;
}

// Holds a rank until `moment`, and books the seconds that it idles.
void hold(RingClocks& result, Clocks& clock, int rank, double moment) {
  const auto r = static_cast<std::size_t>(rank);
  if (moment <= clock[r]) return;
  result.exposed[r] += moment - clock[r];
  clock[r] = moment;
}

}  // namespace

RingClocks ring_clocks(const TimedRing& costs) {
  const std::size_t ranks = costs.computing[0].size();
  RingClocks result;
  result.exposed = Clocks(ranks, 0.0);
  Clocks clock(ranks, 0.0), step_begins, step_ended;

  int step = 0;
  for (const Clocks& work : costs.computing) {
    step_begins = clock;
    std::transform(clock.begin(), clock.end(), work.begin(), clock.begin(), std::plus<>());
    for (const auto& message : costs.transfers) {
      const bool block = message.what == RingTransfer::kBlock && message.step == step;
      const bool sum = message.what == RingTransfer::kSum && message.step == step - 1;
      if (!block && !sum) continue;
      const double moment = arrival(message, block ? step_begins : step_ended);
      hold(result, clock, message.from, moment);
      hold(result, clock, message.to, moment);
    }
    result.steps.push_back(clock);
    step_ended = clock;
    ++step;
  }

  for (const auto& message : costs.transfers)
    if (message.what == RingTransfer::kSum && message.step == step - 1) {
      const double moment = arrival(message, step_ended);
      hold(result, clock, message.from, moment);
      hold(result, clock, message.to, moment);
    }
  result.ends = clock;
  return result;
}

}  // namespace ringcraft
