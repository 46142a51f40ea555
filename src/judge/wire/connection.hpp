#pragma once
/// @file
/// The judge's end of a wire: frames over a non-blocking socket. What the other side sends is kept as it
/// arrives, so a claimed length never decides how much memory is taken; what it does not read waits here and
/// blocks nobody.

#include <deque>
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
  /// Hands over as much as the socket takes.
  void write_some();

  /// Takes what has arrived, at most about a megabyte at once. False when the other side has hung up.
  bool read_some();
  /// The next whole frame. Throws Violation for bytes that are no frame or one beyond kLargestFrame.
  std::optional<Frame> next();
  /// Whether the beginning of a frame is here and its end is not.
  bool has_half_a_frame() const { return taken_ < input_.size(); }

 private:
  int descriptor_;
  Bytes output_, input_;
  std::size_t sent_ = 0, taken_ = 0;
};

}  // namespace ringcraft::judge
