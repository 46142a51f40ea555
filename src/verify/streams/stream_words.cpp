// Findings of the model of streams, in words.
#include "verify/streams/stream_model.hpp"

namespace ringcraft::verify {

std::string sentence_of(const StreamFinding& f) {
  using F = StreamFinding;
  const std::string rank = "rank " + std::to_string(f.rank),
                    exchange = "exchange " + std::to_string(f.exchange), peer = std::to_string(f.peer),
                    work = "computation " + std::to_string(f.step),
                    op = f.op == Op::kSend ? "the send to rank " + peer : "the receive from rank " + peer,
                    start = rank + ", " + exchange + ": ";
  switch (f.kind) {
    case F::kOpenGroup:
      return start + "the group is still open at the end, so nothing in it ever starts";
    case F::kUnopenedGroup:
      return start + "a group is closed that was never opened";
    case F::kForeignEvent:
      return start + "an event that is not one of the two of this exchange";
    case F::kUnrecorded:
      return start + "a wait for an event that is not recorded yet, so it waits for nothing";
    case F::kNoSuchRank:
      return start + op + ": no other rank has this number";
    case F::kOtherOperation:
      return start + op + ": the list has no such operation, or has it only once";
    case F::kMissingOperation:
      return start + op + " is missing";
    case F::kMixedUp:
      return start + op + " meets the bytes of another operation: two messages have changed places";
    case F::kDeadlock:
      return start + op + " never ends: it waits for its other half, and a cycle of streams waits with it";
    case F::kReceiveTooEarly:
      return start + op + " may write its memory while " + work + " still uses it";
    case F::kSendTooEarly:
      return start + op + " may read its bytes before " + work + " has written them";
    case F::kComputeTooEarly:
      return start + work + " may begin before the bytes of " + op + " are there";
    case F::kOverwritten:
      return start + work + " may overwrite the bytes of " + op + " while they leave";
    case F::kExchanges:
      return start + op + " shares memory with another exchange, and nothing orders the two";
    case F::kHostWaits:
      return start + "the host waits for a stream, and enqueues nothing meanwhile";
    case F::kOnCompute:
      return start + op + " runs on the compute stream, where nothing computes meanwhile";
    case F::kNoOverlap:
      return start + work + " stands between start and wait, and begins only when the exchange has ended";
  }
  return {};
}

}  // namespace ringcraft::verify
