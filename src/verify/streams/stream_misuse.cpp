// Compares the calls of one start with its operations, and its events and groups with their rules.
#include "verify/streams/stream_misuse.hpp"

namespace ringcraft::verify {

std::size_t message_of(const StreamCall& call, const std::vector<TracedMessage>& messages,
                       const std::vector<bool>& used) {
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (!used[i] && messages[i].kind == op_of(call) && messages[i].peer == call.peer &&
        messages[i].bytes == call.bytes)
      return i;
  return messages.size();
}

std::vector<StreamFinding> misuse_of(const StreamStep& step, int rank, int n) {
  using F = StreamFinding;
  std::vector<F> found;
  const auto add = [&](F::Kind kind, int peer = -1, Op::Kind op = Op::kSend) {
    found.push_back({kind, rank, step.exchange, peer, op});
  };
  const ExchangeEvents events = events_of(step.exchange);
  std::vector<bool> used(step.messages.size());
  int depth = 0;
  for (const StreamCall& call : step.calls) {
    if (call.kind == StreamCall::kGroupStart) ++depth;
    if (call.kind == StreamCall::kGroupEnd && --depth < 0) add(F::kUnopenedGroup), depth = 0;
    const bool names_event = call.kind == StreamCall::kRecord || call.kind == StreamCall::kWait;
    if (names_event && call.event != events.ready && call.event != events.done) add(F::kForeignEvent);
    if (call.kind == StreamCall::kSynchronize) add(F::kHostWaits);
    if (!moves(call)) continue;
    if (call.stream == RankStream::kCompute) add(F::kOnCompute, call.peer, op_of(call));
    const std::size_t which = message_of(call, step.messages, used);
    if (which < used.size()) {
      used[which] = true;
    } else if (call.peer < 0 || call.peer >= n || call.peer == rank) {
      add(F::kNoSuchRank, call.peer, op_of(call));
    } else {
      add(F::kOtherOperation, call.peer, op_of(call));
    }
  }
  if (depth > 0) add(F::kOpenGroup);
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) add(F::kMissingOperation, step.messages[i].peer, step.messages[i].kind);
  return found;
}

}  // namespace ringcraft::verify
