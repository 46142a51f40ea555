#pragma once
/// @file
/// When every rank of a ring ends every step, and how long it waits: from the seconds of computing and of
/// messages alone, before anything runs. It is the virtual clock of run_ranks (comm/threads.hpp), worked out.

#include <tuple>
#include <vector>

#include "ringcraft/ring/messages.hpp"

namespace ringcraft {

/// A message of a ring and the time that it takes.
struct TimedTransfer {
  int step;                 ///< of a block: posted when this step begins. Of a sum: posted when it ends
  int from;                 ///< the rank that sends
  int to;                   ///< the rank that receives
  RingTransfer::What what;  ///< block or sum
  double seconds;           ///< from the moment when both ranks have posted it; may be 0, and both still wait

  static auto fields(auto& self) { return std::tie(self.step, self.from, self.to, self.what, self.seconds); }
};

/// The pieces of a pass around the ring, each as long as it takes alone.
struct TimedRing {
  std::vector<std::vector<double>> computing;  ///< [steps][ranks]: seconds of computing, at least one step
  std::vector<TimedTransfer> transfers;        ///< those that are sent, in any order; any step may have some

  static auto fields(auto& self) { return std::tie(self.computing, self.transfers); }
};

/// The clocks of a pass. All ranks begin at 0.
struct RingClocks {
  std::vector<std::vector<double>> steps;  ///< [steps][ranks]: when the rank has ended the step
  std::vector<double> ends;                ///< [ranks]: when its last message is complete
  std::vector<double> exposed;             ///< [ranks]: how long it has waited in all

  static auto fields(auto& self) { return std::tie(self.steps, self.ends, self.exposed); }
};

/// The clocks of a ring. In each step a rank posts its messages of blocks, computes, waits for the messages
/// of sums that it posted at the end of the step before, waits for those of blocks, and so ends the step.
/// Then it posts its messages of sums. After the last step it waits for those. A message is complete its
/// seconds after both of its ranks have posted it, whatever else is under way, and both wait for it.
RingClocks ring_clocks(const TimedRing& costs);

}  // namespace ringcraft
