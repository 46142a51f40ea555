#pragma once
/// @file
/// The protocol between the judge and a worker: frames over one socket. A frame is a FrameHeader and
/// `length` bytes. The judge trusts nothing that it reads: every length is compared with a limit before
/// memory is taken for it.
///
///  | to     | frame     | bytes                                                                              |
///  |--------|-----------|------------------------------------------------------------------------------------|
///  | worker | kCall     | exercise, rank, world_size, Sending, Placement, the arguments                      |
///  | worker | kReceived | the bytes of a ticket's receives one after the other: its wait is over             |
///  | judge  | kPost     | ticket, operations (kind, peer, length), the bytes of the sends one after another  |
///  | judge  | kWait     | ticket                                                                             |
///  | judge  | kReply    | changed constant arguments, the result, the arguments that travel back             |
///  | judge  | kThrew    | what(), Thrown, Refusal                                                            |
///  | judge  | kCrashed  | Stray; addresses of the calls that led to the signal, innermost first, 8 bytes each |
///  | judge  | kReady    | none: main has begun                                                               |
///  | judge  | kStrayed  | Stray: a write of the call beside its arguments                                    |

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
/// Bytes that a rank sends and receives in one call, counted once more for those that it sends.
inline constexpr std::uint64_t kMostMoved = std::uint64_t{128} << 20;

/// The most calls of a crash that are reported to the judge.
inline constexpr std::size_t kMostCalls = 32;

/// Begins every frame, so that stray writes to the socket are recognised.
inline constexpr std::uint32_t kFrameMark = 0x52494E47;  // "RING"

enum class FrameKind : std::uint32_t {
  kCall = 1,
  kPost,
  kWait,
  kReceived,
  kReply,
  kThrew,
  kCrashed,
  kReady,
  kStrayed
};

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

/// The end at which the memory of an argument meets an inaccessible page. The bytes at its other end are
/// checked after the call. A right program cannot distinguish the two.
enum class Placement : std::uint8_t { kAtEnd, kAtStart };

/// A wrong access to memory.
struct Stray {
  enum class Where : std::uint32_t {
    kElsewhere,
    kNull,    ///< through a null pointer
    kStack,   ///< below the end of the stack
    kBefore,  ///< before the first element of an argument
    kAfter,   ///< after the last one
  };
  enum class How : std::uint32_t { kTouched, kRead, kWritten };

  Where where = Where::kElsewhere;
  How how = How::kTouched;
  std::uint64_t argument = 0;  ///< from 0; kNoArgument
  std::uint64_t distance = 0;  ///< bytes between the element at that end and what was touched
  std::uint64_t bytes = 0;     ///< of the memory beside which it lies
};
/// Of a Stray: a copy that the program has made of an argument.
inline constexpr std::uint64_t kNoArgument = ~std::uint64_t{0};

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
