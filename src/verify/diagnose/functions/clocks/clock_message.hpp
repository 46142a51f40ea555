#pragma once
/// @file
/// A message on one of its ranks, by a law of the grammar: the clock that it sets, and what it exposes.

#include "verify/diagnose/functions/clocks/clock_law.hpp"

namespace ringcraft::verify {

/// A message that a rank waits for.
struct AwaitedMessage {
  RingTransfer::What what;
  bool sends;       ///< or receives
  bool first;       ///< of those that the rank waits for at once
  double waiting;   ///< the rank's clock when it began to wait
  double clock;     ///< and now
  double own_post;  ///< when the rank posted it
  double complete;
  double seconds;
};

/// When it begins, by the clocks at which its sender and its receiver have posted it.
double begin_of(MessageLaw::Begins begins, double sent, double received);
/// The rank's clock after it.
double clock_after(MessageLaw::Sets sets, const AwaitedMessage& message);
/// The rank's exposed time after it, of what it was before.
double exposed_after(const ClockLaw& law, double exposed, const AwaitedMessage& message);
/// The figures that are told, of those that a right recursion would tell.
RingClocks told(const ClockLaw& law, RingClocks clocks, const TimedRing& costs);

}  // namespace ringcraft::verify
