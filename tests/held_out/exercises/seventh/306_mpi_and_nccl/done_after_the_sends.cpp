// Mistake: events.done is recorded after the sends have been enqueued and before the receives: sends and receives form two groups with the mark between them, so every rank must first get rid of its sends before a receive is posted (a deadlock), and the wait would cover the sends only.
// Lesson 306: the order of events, groups and messages on a rank's two streams, without a wait of the host.
#include "ringcraft/comm/stream_order.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

void start_on_streams(StreamCalls& calls, std::span<const Op> ops, const ExchangeEvents& events) {
  constexpr RankStream kCopies = RankStream::kCommunication;
  calls.record(events.ready, RankStream::kCompute);
  calls.wait(events.ready, kCopies);
  for (const Op::Kind kind : {Op::kSend, Op::kRecv}) {
    calls.group_start();
    for (const Op& op : ops) {
      if (op.kind != kind) continue;
      if (kind == Op::kSend)
        calls.send(op.peer, op.bytes, kCopies);
      else
        calls.recv(op.peer, op.bytes, kCopies);
    }
    calls.group_end();
    if (kind == Op::kSend) calls.record(events.done, kCopies);
  }
}

void wait_on_streams(StreamCalls& calls, const ExchangeEvents& events) {
  calls.wait(events.done, RankStream::kCompute);
}

}  // namespace ringcraft
