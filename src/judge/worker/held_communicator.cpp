// Tracks the buffers of operations in flight, and rejects a buffer that is used twice at once.
#include "judge/worker/held_communicator.hpp"

#include <algorithm>
#include <string>

#include "ringcraft/comm/refusal.hpp"

namespace ringcraft::judge {
namespace {

bool overlap(const Op& a, const Op& b) {
  return a.bytes.data() < b.bytes.data() + b.bytes.size() && b.bytes.data() < a.bytes.data() + a.bytes.size();
}

}  // namespace

// A receive buffer must not be in use by another operation.
void HeldCommunicator::require_apart(std::span<const Op> ops) const {
  const auto check = [&](const Op& mine, const Op& other) {
    if (&mine == &other || (mine.kind == Op::kSend && other.kind == Op::kSend) || !overlap(mine, other))
      return;
    const bool both_receive = mine.kind == Op::kRecv && other.kind == Op::kRecv;
    throw Refused(both_receive ? Refusal::kAlreadyReceiving : Refusal::kStillSending,
                  "rank " + std::to_string(rank()) + " receives into a buffer that it is " +
                      (both_receive ? "already receiving into" : "still sending from") +
                      "; wait for the one before you start the other, or use a second buffer");
  };
  for (const Op& mine : ops) {
    for (const Op& other : ops) check(mine, other);
    for (const auto& [ticket, under_way] : open_)
      for (const Op& other : under_way) check(mine, other);
  }
}

std::uint64_t HeldCommunicator::do_start(std::span<const Op> ops) {
  for (const Op& op : ops)
    if (op.bytes.size() > kLargestMessage)
      throw Error("rank " + std::to_string(rank()) + (op.kind == Op::kSend ? " sends " : " expects ") +
                  std::to_string(op.bytes.size()) +
                  " bytes in one message; no KV block here is larger than " +
                  std::to_string(kLargestMessage) + " bytes");
  require_apart(ops);
  for (const Op& op : ops)
    if (op.kind == Op::kRecv) std::fill(op.bytes.begin(), op.bytes.end(), std::byte{0xFF});
  held_back_.push_back({++last_ticket_, {ops.begin(), ops.end()}});
  open_[last_ticket_] = held_back_.back().ops;
  if (sending_ == Sending::kAtStart) flush();
  return last_ticket_;
}

void HeldCommunicator::flush() {
  for (const Started& started : held_back_) post(started.ticket, started.ops);
  held_back_.clear();
}

void HeldCommunicator::do_wait(std::uint64_t ticket) {
  flush();
  complete(ticket, open_[ticket]);
  open_.erase(ticket);
}

}  // namespace ringcraft::judge
