// Validation, counting and recording, once for every backend.
#include "ringcraft/comm/communicator.hpp"

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "ringcraft/comm/refusal.hpp"
#include "ringcraft/comm/trace.hpp"

namespace ringcraft {

Pending& Pending::operator=(Pending&& other) noexcept {
  if (this != &other) {
    { const Pending finished = std::move(*this); }  // waits for the operations that this one still held
    communicator_ = std::exchange(other.communicator_, nullptr);
    ticket_ = other.ticket_;
  }
  return *this;
}

Pending::~Pending() {
  try {
    if (communicator_ != nullptr && std::uncaught_exceptions() > 0) communicator_->do_give_up();
    wait();
  } catch (...) {
    // The transport has failed: nothing is in flight any more, and an explicit wait() throws the reason.
  }
}

void Pending::wait() {
  if (Communicator* communicator = std::exchange(communicator_, nullptr)) communicator->wait(ticket_);
}

Pending Communicator::start(std::span<const Op> ops) {
  std::vector<Op> real;
  for (const Op& op : ops) {
    if (op.peer < 0 || op.peer >= world_size_ || op.peer == rank_)
      throw Refused(
          op.peer == rank_ ? Refusal::kItself : Refusal::kNoSuchRank,
          "rank " + std::to_string(rank_) + (op.kind == Op::kSend ? " sends" : " receives"),
          "another rank of 0 to " + std::to_string(world_size_ - 1), "rank " + std::to_string(op.peer),
          op.peer == rank_ ? "a rank does not message itself; with one rank there is nothing to exchange"
                           : "take neighbours modulo world_size");
    if (op.bytes.empty()) continue;
    real.push_back(op);
    (op.kind == Op::kSend ? traffic_.bytes_sent : traffic_.bytes_received) +=
        static_cast<Index>(op.bytes.size());
    traffic_.messages_sent += op.kind == Op::kSend ? 1 : 0;
  }
  if (real.empty()) return {};
  if (trace_ == nullptr) return {this, do_start(real)};
  const std::size_t event = trace_->start(real);
  const std::uint64_t ticket = do_start(real);
  trace_->started(event, ticket);
  return {this, ticket};
}

void Communicator::wait(std::uint64_t ticket) {
  if (trace_ == nullptr) return do_wait(ticket);
  const auto event = trace_->wait(ticket);
  do_wait(ticket);
  if (event) trace_->end(*event);
}

}  // namespace ringcraft
