// Seconds of blocks from the ledger of work, seconds of messages from their list.
#include "ringcraft/ring/timed_ring.hpp"

#include <algorithm>

#include "ringcraft/ring/work.hpp"

namespace ringcraft {

TimedRing timed_ring(const Problem& problem, Pass pass, Schedule schedule, RoleBytes bytes, BlockCost block,
                     LinkCost link) {
  TimedRing costs;
  for (const std::vector<Index>& pairs : ring_work(problem).pairs) {
    std::vector<double>& step = costs.computing.emplace_back();
    for (const Index count : pairs)
      step.push_back(count == 0 ? 0 : block.per_block + block.per_pair * static_cast<double>(count));
  }
  if (pass == Pass::kBackward && schedule == Schedule::kReversed) std::ranges::reverse(costs.computing);
  for (const RingTransfer& transfer : ring_messages(problem, pass, schedule)) {
    const double seconds = link.alpha + static_cast<double>(bytes_of(transfer, bytes)) / link.beta;
    costs.transfers.push_back({transfer.step, transfer.from, transfer.to, transfer.what, seconds});
  }
  return costs;
}

}  // namespace ringcraft
