// Sends and receives frames over a non-blocking socket, with buffers for both directions.
#include "judge/wire/connection.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace ringcraft::judge {

void Connection::send(FrameKind kind, std::span<const std::byte> bytes) {
  if (!has_output()) {
    output_.clear();
    sent_ = 0;
  }
  Writer frame;
  frame.number(FrameHeader{kFrameMark, kind, bytes.size()});
  const Bytes header = frame.take();
  output_.insert(output_.end(), header.begin(), header.end());
  output_.insert(output_.end(), bytes.begin(), bytes.end());
  write_some();
}

void Connection::write_some() {
  while (has_output()) {
    const ssize_t put =
        ::send(descriptor_, output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno != EAGAIN)
      sent_ = output_.size();  // the other side reads no more: the next read reports it
    if (put <= 0) return;
    sent_ += static_cast<std::size_t>(put);
    moved_ += static_cast<std::uint64_t>(put);
  }
}

bool Connection::read_some() {
  input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  std::byte buffer[16 << 10];
  for (int chunk = 0; chunk < 64; ++chunk) {
    const ssize_t got = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    moved_ += static_cast<std::uint64_t>(got);
    input_.insert(input_.end(), buffer, buffer + got);
    if (static_cast<std::size_t>(got) < sizeof buffer) return true;
  }
  return true;
}

std::optional<Frame> Connection::next() {
  const auto here = std::span<const std::byte>(input_).subspan(taken_);
  if (here.size() < sizeof(FrameHeader)) return {};
  const auto header = Reader(here).number<FrameHeader>();
  if (header.mark != kFrameMark) throw Violation("wrote bytes of its own to the judge's connection");
  if (header.length > kLargestFrame)
    throw Violation("claims to send " + std::to_string(header.length) +
                    " bytes at once, more than any exercise needs");
  if (here.size() - sizeof header < header.length) return {};
  const auto bytes = here.subspan(sizeof header, static_cast<std::size_t>(header.length));
  taken_ += sizeof header + bytes.size();
  return Frame{header.kind, {bytes.begin(), bytes.end()}};
}

}  // namespace ringcraft::judge
