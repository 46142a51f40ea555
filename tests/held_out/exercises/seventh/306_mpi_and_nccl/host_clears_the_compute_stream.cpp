// Mistake: Instead of ordering the messages after the computing by the event ready, start lets the host wait until the compute stream is empty (synchronize). Nothing comes too early, but the host enqueues nothing meanwhile.
// Lesson 306: the order of events, groups and messages on a rank's two streams, without a wait of the host.
#include "ringcraft/comm/stream_order.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

void start_on_streams(StreamCalls& calls, std::span<const Op> ops, const ExchangeEvents& events) {
  // All bytes must be there before they leave.
  calls.synchronize(RankStream::kCompute);
  calls.group_start();
  for (const Op& op : ops)
    if (op.kind == Op::kRecv)
      calls.recv(op.peer, op.bytes, RankStream::kCommunication);
    else
      calls.send(op.peer, op.bytes, RankStream::kCommunication);
  calls.group_end();
  calls.record(events.done, RankStream::kCommunication);
}

void wait_on_streams(StreamCalls& calls, const ExchangeEvents& events) {
  calls.wait(events.done, RankStream::kCompute);
}

}  // namespace ringcraft
