// Lesson 306: the order of events, groups and messages on a rank's two streams, without a wait of the host.
#include "ringcraft/comm/stream_order.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

void start_on_streams(StreamCalls& calls, std::span<const Op> ops, const ExchangeEvents& events) {
  // BEGIN SOLUTION 306 [start_on_streams]
  calls.record(events.ready, RankStream::kCompute);
  calls.wait(events.ready, RankStream::kCommunication);
  calls.group_start();
  for (const Op& op : ops) {
    if (op.kind == Op::kSend)
      calls.send(op.peer, op.bytes, RankStream::kCommunication);
    else
      calls.recv(op.peer, op.bytes, RankStream::kCommunication);
  }
  calls.group_end();
  calls.record(events.done, RankStream::kCommunication);
  // END SOLUTION [start_on_streams]
}

void wait_on_streams(StreamCalls& calls, const ExchangeEvents& events) {
  // BEGIN SOLUTION 306 [wait_on_streams]
  calls.wait(events.done, RankStream::kCompute);
  // END SOLUTION [wait_on_streams]
}

}  // namespace ringcraft
