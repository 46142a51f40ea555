// Frames and messages on the worker's side (see wire_communicator.hpp).
#include "judge/worker/wire_communicator.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

[[noreturn]] void judge_is_gone() { ::_exit(1); }

void read_all(void* to, std::size_t size) {
  for (auto* at = static_cast<std::byte*>(to); size > 0;) {
    const ssize_t got = ::read(kWireDescriptor, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) judge_is_gone();
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

void write_all(const void* from, std::size_t size) {
  for (const auto* at = static_cast<const std::byte*>(from); size > 0;) {
    const ssize_t put = ::send(kWireDescriptor, at, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) judge_is_gone();
    at += put;
    size -= static_cast<std::size_t>(put);
  }
}

bool overlap(const Op& a, const Op& b) {
  return a.bytes.data() < b.bytes.data() + b.bytes.size() && b.bytes.data() < a.bytes.data() + a.bytes.size();
}

void post(std::uint64_t ticket, const std::vector<Op>& ops) {
  Writer to;
  to.number(ticket);
  to.number(std::uint64_t{ops.size()});
  for (const Op& op : ops) {
    to.number(op.kind);
    to.number(op.peer);
    to.number(std::uint64_t{op.bytes.size()});
  }
  for (const Op& op : ops)
    if (op.kind == Op::kSend) to.raw(op.bytes.data(), op.bytes.size());
  write_frame(FrameKind::kPost, to.take());
}

}  // namespace

Frame read_frame() {
  FrameHeader header;
  read_all(&header, sizeof header);
  if (header.mark != kFrameMark || header.length > kLargestFrame) judge_is_gone();
  Frame frame{header.kind, Bytes(static_cast<std::size_t>(header.length))};
  read_all(frame.bytes.data(), frame.bytes.size());
  return frame;
}

void write_frame(FrameKind kind, const Bytes& bytes) {
  Writer whole;  // one write: fewer switches between worker and judge
  whole.number(FrameHeader{kFrameMark, kind, bytes.size()});
  whole.raw(bytes.data(), bytes.size());
  const Bytes frame = whole.take();
  write_all(frame.data(), frame.size());
}

// A buffer that is received into must not be under way in another operation.
void WireCommunicator::require_apart(std::span<const Op> ops) const {
  const auto check = [&](const Op& mine, const Op& other) {
    if (&mine == &other || (mine.kind == Op::kSend && other.kind == Op::kSend) || !overlap(mine, other))
      return;
    const bool both_receive = mine.kind == Op::kRecv && other.kind == Op::kRecv;
    throw Error("rank " + std::to_string(rank()) + " receives into a buffer that it is " +
                (both_receive ? "already receiving into" : "still sending from") +
                "; wait for the one before you start the other, or use a second buffer");
  };
  for (const Op& mine : ops) {
    for (const Op& other : ops) check(mine, other);
    for (const auto& [ticket, under_way] : open_)
      for (const Op& other : under_way) check(mine, other);
  }
}

std::uint64_t WireCommunicator::do_start(std::span<const Op> ops) {
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

void WireCommunicator::flush() {
  for (const Started& started : held_back_) post(started.ticket, started.ops);
  held_back_.clear();
}

void WireCommunicator::do_wait(std::uint64_t ticket) {
  flush();
  Writer to;
  to.number(ticket);
  write_frame(FrameKind::kWait, to.take());
  const Frame frame = read_frame();
  if (frame.kind != FrameKind::kReceived) judge_is_gone();
  Reader from(frame.bytes);
  for (const Op& op : open_[ticket])
    if (op.kind == Op::kRecv) {
      const auto bytes = from.raw(op.bytes.size());
      std::copy(bytes.begin(), bytes.end(), op.bytes.begin());
    }
  open_.erase(ticket);
}

}  // namespace ringcraft::judge
