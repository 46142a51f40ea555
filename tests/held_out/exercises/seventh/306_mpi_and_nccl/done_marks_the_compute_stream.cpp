// Mistake: events.done is recorded on the compute stream instead of the communication stream, so the wait of the compute stream waits for nothing but its own past: computations may begin before the messages are through.
// Lesson 306: the order of events, groups and messages on a rank's two streams, without a wait of the host.
#include "ringcraft/comm/stream_order.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

void start_on_streams(StreamCalls& calls, std::span<const Op> ops, const ExchangeEvents& events) {
  const auto messages = RankStream::kCommunication, kernels = RankStream::kCompute;

  calls.record(events.ready, kernels);
  calls.wait(events.ready, messages);

  calls.group_start();
  for (const auto& [kind, peer, bytes] : ops) {
    switch (kind) {
      case Op::kSend: calls.send(peer, bytes, messages); break;
      case Op::kRecv: calls.recv(peer, bytes, messages); break;
    }
  }
  calls.group_end();
  calls.record(events.done, kernels);
}

void wait_on_streams(StreamCalls& calls, const ExchangeEvents& events) {
  calls.wait(events.done, RankStream::kCompute);
}

}  // namespace ringcraft
