#pragma once
/// @file
/// The judge's end of a wire: frames over a non-blocking socket. Bytes from the other side are stored as they
/// arrive, so a claimed length never decides how much memory is taken; bytes that it does not read wait in a
/// buffer here and block no one.

#include <cstdint>
#include <optional>
#include <stdexcept>

#include "judge/wire/wire.hpp"

namespace ringcraft::judge {

/// The other side does not keep to protocol.hpp. what() continues the sentence "your program ...".
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Sends and receives frames on a descriptor that it does not own.
class Connection {
 public:
  explicit Connection(int descriptor) : descriptor_(descriptor) {}

  /// Queues a frame.
  void send(FrameKind kind, std::span<const std::byte> bytes);
  /// Whether something is queued.
  bool has_output() const { return sent_ < output_.size(); }
  /// Writes as much as the socket takes.
  void write_some();

  /// Reads the bytes that have arrived, at most about a megabyte at once. False when the other side has hung
  /// up.
  bool read_some();
  /// The next whole frame. Throws Violation for bytes that are no frame or one beyond kLargestFrame.
  std::optional<Frame> next();
  /// Whether only a part of a frame has arrived.
  bool has_half_a_frame() const { return taken_ < input_.size(); }
  /// Bytes that were written and read so far.
  std::uint64_t moved() const { return moved_; }

 private:
  int descriptor_;
  Bytes output_, input_;
  std::size_t sent_ = 0, taken_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace ringcraft::judge
