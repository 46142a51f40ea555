// Mistake: Two mistakes. (1) The communication stream waits for ready only if the exchange has a send: an exchange of receives alone may overwrite memory that a computation still reads. (2) events.done is recorded in wait_on_streams, not at the end of start, so the wait covers exchanges that were started later as well.
// Lesson 306: the order of events, groups and messages on a rank's two streams, without a wait of the host.
#include "ringcraft/comm/stream_order.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

void start_on_streams(StreamCalls& calls, std::span<const Op> ops, const ExchangeEvents& events) {
  bool sends = false;
  for (const Op& op : ops) sends |= op.kind == Op::kSend;
  calls.record(events.ready, RankStream::kCompute);
  if (sends) calls.wait(events.ready, RankStream::kCommunication);
  calls.group_start();
  for (const Op& op : ops) {
    if (op.kind == Op::kSend) calls.send(op.peer, op.bytes, RankStream::kCommunication);
    if (op.kind == Op::kRecv) calls.recv(op.peer, op.bytes, RankStream::kCommunication);
  }
  calls.group_end();
}

void wait_on_streams(StreamCalls& calls, const ExchangeEvents& events) {
  calls.record(events.done, RankStream::kCommunication);
  calls.wait(events.done, RankStream::kCompute);
}

}  // namespace ringcraft
