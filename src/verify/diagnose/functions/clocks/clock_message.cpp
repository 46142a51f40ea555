// The clock that a message sets by a law of the grammar, what it exposes, and which figures are told.
#include "verify/diagnose/functions/clocks/clock_message.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace ringcraft::verify {
namespace {

using Law = ClockLaw;

bool counts(Law::Counts counts, const AwaitedMessage& message) {
  switch (counts) {
    case Law::Counts::kReceives:
      return !message.sends;
    case Law::Counts::kSends:
      return message.sends;
    case Law::Counts::kBlocks:
      return message.what == RingTransfer::kBlock;
    case Law::Counts::kSums:
      return message.what == RingTransfer::kSum;
    default:
      return true;
  }
}

void tell_steps(Law::Kept kept, RingClocks& clocks) {
  auto& steps = clocks.steps;
  if (kept == Law::Kept::kLastStepEnds) steps.back() = clocks.ends;
  if (kept == Law::Kept::kStepsLast)
    for (std::size_t step = steps.size() - 1; step > 0; --step)
      std::ranges::transform(steps[step], steps[step - 1], steps[step].begin(), std::minus<>());
  if (kept == Law::Kept::kEndsOfLastStep) clocks.ends = steps.back();
  if (kept == Law::Kept::kEndsLatest) clocks.ends.assign(clocks.ends.size(), std::ranges::max(clocks.ends));
}

void tell_exposed(Law::Of of, RingClocks& clocks, const TimedRing& costs) {
  std::vector<double>& exposed = clocks.exposed;
  const std::vector<double>& ends = clocks.ends;
  if (of == Law::Of::kSlowest) exposed.assign(exposed.size(), std::ranges::max(exposed));
  if (of == Law::Of::kAllRanks)
    exposed.assign(exposed.size(), std::accumulate(exposed.begin(), exposed.end(), 0.0));
  for (std::size_t rank = 0; rank < exposed.size(); ++rank) {
    if (of == Law::Of::kUntilAllEnd) exposed[rank] += std::ranges::max(ends) - ends[rank];
    if (of == Law::Of::kShare && ends[rank] != 0) exposed[rank] /= ends[rank];
    if (of == Law::Of::kWithComputing) exposed[rank] = ends[rank];
    if (of == Law::Of::kWithFirstStep) exposed[rank] += costs.computing.front()[rank];
    if (of == Law::Of::kWithLastStep) exposed[rank] += costs.computing.back()[rank];
  }
}

}  // namespace

double begin_of(MessageLaw::Begins begins, double sent, double received) {
  switch (begins) {
    case MessageLaw::Begins::kSender:
      return sent;
    case MessageLaw::Begins::kReceiver:
      return received;
    case MessageLaw::Begins::kEarlierPost:
      return std::min(sent, received);
    default:
      return std::max(sent, received);
  }
}

double clock_after(MessageLaw::Sets sets, const AwaitedMessage& m) {
  const double alone = std::max(m.waiting, m.complete);
  switch (sets) {
    case MessageLaw::Sets::kLatest:
      return std::max(m.clock, m.complete);
    case MessageLaw::Sets::kAdds:
      return m.clock + m.seconds;
    case MessageLaw::Sets::kAddsItsWait:
      return m.clock + (alone - m.waiting);
    case MessageLaw::Sets::kOverwrites:
      return m.complete;
    case MessageLaw::Sets::kLast:
      return alone;
    case MessageLaw::Sets::kFirst:
      return m.first ? alone : m.clock;
    case MessageLaw::Sets::kEarliest:
      return m.first ? alone : std::min(m.clock, alone);
  }
  return m.clock;
}

double exposed_after(const Law& law, double exposed, const AwaitedMessage& m) {
  if (!counts(law.counts, m)) return exposed;
  const MessageLaw::Sets sets = (m.what == RingTransfer::kBlock ? law.blocks : law.sums).sets;
  const double waited = std::max(0.0, m.complete - m.clock);
  switch (law.exposed) {
    case Law::Exposed::kWaited:
      return exposed + (sets == MessageLaw::Sets::kOverwrites ? waited : clock_after(sets, m) - m.clock);
    case Law::Exposed::kSigned:
      return exposed + m.complete - m.clock;
    case Law::Exposed::kLastWait:
      return waited;
    case Law::Exposed::kLongestWait:
      return std::max(exposed, waited);
    case Law::Exposed::kEachMessage:
      return exposed + std::max(0.0, m.complete - m.waiting);
    case Law::Exposed::kWholeMessage:
      return exposed + m.seconds;
    case Law::Exposed::kOwnPost:
      return exposed + std::max(0.0, m.own_post + m.seconds - m.clock);
  }
  return exposed;
}

RingClocks told(const Law& law, RingClocks clocks, const TimedRing& costs) {
  if (clocks.steps.empty()) return clocks;
  tell_exposed(law.of, clocks, costs);
  tell_steps(law.kept, clocks);
  return clocks;
}

}  // namespace ringcraft::verify
