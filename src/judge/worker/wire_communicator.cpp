// Reads and writes frames with blocking calls, and sends every message through the judge.
#include "judge/worker/wire_communicator.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "process/descriptor_numbers.hpp"

namespace ringcraft::judge {
namespace {

[[noreturn]] void judge_is_gone() { ::_exit(1); }

void read_all(void* to, std::size_t size) {
  for (auto* at = static_cast<std::byte*>(to); size > 0;) {
    const ssize_t got = ::read(process::kWireDescriptor, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) judge_is_gone();
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

void write_all(const void* from, std::size_t size) {
  for (const auto* at = static_cast<const std::byte*>(from); size > 0;) {
    const ssize_t put = ::send(process::kWireDescriptor, at, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) judge_is_gone();
    at += put;
    size -= static_cast<std::size_t>(put);
  }
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

void WireCommunicator::post(std::uint64_t ticket, const std::vector<Op>& ops) {
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

void WireCommunicator::complete(std::uint64_t ticket, const std::vector<Op>& ops) {
  Writer to;
  to.number(ticket);
  write_frame(FrameKind::kWait, to.take());
  const Frame frame = read_frame();
  if (frame.kind != FrameKind::kReceived) judge_is_gone();
  Reader from(frame.bytes);
  for (const Op& op : ops)
    if (op.kind == Op::kRecv) {
      const auto bytes = from.raw(op.bytes.size());
      std::copy(bytes.begin(), bytes.end(), op.bytes.begin());
    }
}

}  // namespace ringcraft::judge
