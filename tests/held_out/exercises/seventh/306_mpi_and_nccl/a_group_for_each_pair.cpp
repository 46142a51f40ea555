// Mistake: The i-th send and the i-th receive form a group of their own, one after the other, instead of one group for all operations. A ring gets through, as its lists meet pair by pair; patterns in which the lists of the ranks begin at different peers deadlock.
// Lesson 306: the order of events, groups and messages on a rank's two streams, without a wait of the host.
#include "ringcraft/comm/stream_order.hpp"

#include <algorithm>
#include <vector>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

void start_on_streams(StreamCalls& calls, std::span<const Op> ops, const ExchangeEvents& events) {
  std::vector<Op> sends, receives;
  for (const Op& op : ops) (op.kind == Op::kSend ? sends : receives).push_back(op);

  calls.record(events.ready, RankStream::kCompute);
  calls.wait(events.ready, RankStream::kCommunication);
  for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    calls.group_start();
    if (i < sends.size()) calls.send(sends[i].peer, sends[i].bytes, RankStream::kCommunication);
    if (i < receives.size()) calls.recv(receives[i].peer, receives[i].bytes, RankStream::kCommunication);
    calls.group_end();
  }
  calls.record(events.done, RankStream::kCommunication);
}

void wait_on_streams(StreamCalls& calls, const ExchangeEvents& events) {
  calls.wait(events.done, RankStream::kCompute);
}

}  // namespace ringcraft
