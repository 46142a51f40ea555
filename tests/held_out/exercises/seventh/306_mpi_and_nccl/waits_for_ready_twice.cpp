// Mistake: wait_on_streams lets the compute stream wait for events.ready instead of events.done. Ready lies in the past of the compute stream itself, so nothing ties later computations to the end of the messages.
// Lesson 306: the order of events, groups and messages on a rank's two streams, without a wait of the host.
#include "ringcraft/comm/stream_order.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

void enqueue(StreamCalls& calls, const Op& op) {
  if (op.kind == Op::kSend) return calls.send(op.peer, op.bytes, RankStream::kCommunication);
  calls.recv(op.peer, op.bytes, RankStream::kCommunication);
}

}  // namespace

void start_on_streams(StreamCalls& calls, std::span<const Op> ops, const ExchangeEvents& events) {
  calls.record(events.ready, RankStream::kCompute);
  calls.wait(events.ready, RankStream::kCommunication);
  calls.group_start();
  for (const Op& op : ops) enqueue(calls, op);
  calls.group_end();
  calls.record(events.done, RankStream::kCommunication);
}

void wait_on_streams(StreamCalls& calls, const ExchangeEvents& events) {
  calls.wait(events.ready, RankStream::kCompute);
}

}  // namespace ringcraft
