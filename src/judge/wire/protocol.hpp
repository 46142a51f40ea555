#pragma once
/// @file
/// The protocol between the judge and a worker: frames over one socket. A frame is a FrameHeader and
/// `length` bytes. The judge trusts nothing that it reads: every length is compared with a limit before
/// memory is taken for it.
///
///  | to     | frame     | bytes                                                                              |
///  |--------|-----------|------------------------------------------------------------------------------------|
///  | worker | kCall     | exercise, rank, world_size, Sending, the arguments                                 |
///  | worker | kReceived | the bytes of a ticket's receives one after the other: its wait is over             |
///  | judge  | kPost     | ticket, operations (kind, peer, length), the bytes of the sends one after another  |
///  | judge  | kWait     | ticket                                                                             |
///  | judge  | kReply    | changed constant arguments, the result, the arguments that travel back             |
///  | judge  | kThrew    | what(), and Thrown                                                                 |
///  | judge  | kCrashed  | addresses of the calls that led to the fatal signal, innermost first, 8 bytes each |

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>

#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {

/// Sizes far above those of any honest exercise.
inline constexpr std::uint64_t kLargestFrame = std::uint64_t{64} << 20;  ///< bytes of one frame
inline constexpr std::uint64_t kLargestMessage = std::uint64_t{16}
                                                 << 20;  ///< bytes of one message between ranks

/// The most calls of a crash that are reported to the judge.
inline constexpr std::size_t kMostCalls = 32;

/// Begins every frame, so that stray writes to the socket are recognised.
inline constexpr std::uint32_t kFrameMark = 0x52494E47;  // "RING"

enum class FrameKind : std::uint32_t { kCall = 1, kPost, kWait, kReceived, kReply, kThrew, kCrashed };

struct FrameHeader {
  std::uint32_t mark = kFrameMark;
  FrameKind kind = FrameKind::kCall;
  std::uint64_t length = 0;  ///< bytes that follow
};

/// The time at which a worker sends the bytes of a send that it has started. A right program cannot
/// distinguish the two.
enum class Sending : std::uint8_t {
  kAtStart,  ///< at once: later writes to the buffer have no effect
  kAtWait,   ///< at its next wait: writes to the buffer before that arrive at the receiver
};

/// The kind of an exception of a student's program.
enum class Thrown : std::uint8_t {
  kOther,
  kMemory,      ///< none is left, reported by the standard library or by Buffer
  kNotWritten,  ///< the exercise is still its skeleton
};

/// The kind of this exception.
inline Thrown kind_of(const std::exception& exception) {
  const auto* const error = dynamic_cast<const Error*>(&exception);
  if (dynamic_cast<const NotWritten*>(&exception) != nullptr) return Thrown::kNotWritten;
  return dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
                 (error != nullptr && error->code() == Code::kMissing)
             ? Thrown::kMemory
             : Thrown::kOther;
}

}  // namespace ringcraft::judge
