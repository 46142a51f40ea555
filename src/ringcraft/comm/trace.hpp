#pragma once
/// @file
/// Trace: the messages and computations of each rank, with their times and memory. The base classes
/// Communicator and BlockEngine record it on request, once for every transport and engine; without a request
/// they test one pointer. A trace speaks of memory by its addresses and takes no word from the algorithm that
/// it watches: which block lies where follows from what the caller says was there first (holds) and from the
/// messages.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft {

/// Bytes of one rank's memory. A number, not a pointer: a trace outlives the buffers that it refers to.
struct TracedBytes {
  std::uintptr_t address = 0;  ///< of the first byte
  Index size = 0;              ///< bytes

  TracedBytes() = default;
  /// `bytes` bytes from `first` on.
  TracedBytes(std::uintptr_t first, Index bytes) : address(first), size(bytes) {}
  /// The bytes of a span.
  explicit TracedBytes(std::span<const std::byte> bytes)
      : address(reinterpret_cast<std::uintptr_t>(bytes.data())), size(static_cast<Index>(bytes.size())) {}
  /// The bytes of a buffer.
  explicit TracedBytes(const Buffer& buffer) : TracedBytes(buffer.bytes()) {}

  /// One past the last byte.
  std::uintptr_t end() const { return address + static_cast<std::uintptr_t>(size); }
  /// Whether both have a byte in common.
  bool overlaps(const TracedBytes& other) const {
    return size > 0 && other.size > 0 && address < other.end() && other.address < end();
  }
  friend bool operator==(const TracedBytes&, const TracedBytes&) = default;
};

/// One operation of a start.
struct TracedMessage {
  Op::Kind kind = Op::kSend;  ///< which half of the message
  int peer = 0;               ///< the rank at the other end
  TracedBytes bytes;          ///< source of a send, or destination of a receive
};

/// One tensor that an engine touched.
struct TracedTensor {
  /// How.
  enum Access : std::uint8_t {
    kRead,
    kWrite,   ///< the old contents are lost
    kUpdate,  ///< read and written
  };

  std::string_view name;  ///< "q", "k", "v", "out", "dq", "dk", ...
  Access access = kRead;  ///< how it was touched
  TracedBytes bytes;      ///< its location
};

/// Neighbouring bytes that a copy moved.
struct CopiedBytes {
  Index from = 0;  ///< the first byte, counted from that of the source,
  Index to = 0;    ///< and its place, counted from the first byte of the target
  Index size = 0;  ///< bytes

  friend bool operator==(const CopiedBytes&, const CopiedBytes&) = default;
};

/// The part of a tensor that a buffer holds, where that is not all heads of one rank's rows.
struct HeldPart {
  int joined = 1;        ///< neighbours whose rows are held together: the owner counts them as one
  Index first_head = 0;  ///< the first of its heads
  Index heads = 0;       ///< number of its heads; 0: all

  friend bool operator==(const HeldPart&, const HeldPart&) = default;
};

/// Seconds on two clocks.
struct TraceTime {
  double wall = 0;      ///< real seconds since the Trace was made
  double virtual_ = 0;  ///< the rank's virtual clock; 0 where there is none
};

/// One thing that a rank did.
struct TraceEvent {
  /// The kind of the event.
  enum Kind : std::uint8_t {
    kHolds,     ///< a statement of the caller: `tensors[0]` is that of rank `owner`
    kStart,     ///< Communicator::start
    kWait,      ///< Pending::wait
    kForward,   ///< BlockEngine::forward
    kBackward,  ///< BlockEngine::backward
    kAdd,       ///< BlockEngine::add: the updated tensors are the sum, the read ones the terms
    kCopy,      ///< BlockEngine::copy: the read tensor is the source, the updated one the target
    kGives,     ///< a statement of the caller: `tensors[0]` is a result, that of the rank's own rows
    kBegin,     ///< BlockEngine::begin: the written tensors are sums without a block
    kClear,     ///< BlockEngine::set_zero: so is the written tensor
  };

  Kind kind = kHolds;                   ///< type of the event
  TraceTime begin;                      ///< when it began
  TraceTime end;                        ///< when it ended; meaningless unless `ended`
  bool ended = false;                   ///< false if an exception left it
  Index live_bytes = 0;                 ///< of the rank's buffers at its beginning, if they are metered
  int owner = 0;                        ///< kHolds: the rank whose tensor it is
  HeldPart part;                        ///< kHolds: and the part of it
  std::size_t waits_for = 0;            ///< kWait: the rank's event with the start
  std::vector<TracedMessage> messages;  ///< kStart: those that are not empty
  std::vector<TracedTensor> tensors;    ///< tensors accessed, empty ones included
  std::vector<CopiedBytes> copied;      ///< kCopy: the bytes, from the source to the target
  std::vector<int> key_begin;           ///< kForward, kBackward: KeyRanges::begin of the call, if kept
  std::vector<int> key_end;             ///< kForward, kBackward: KeyRanges::end of the call, if kept
  Index pairs = 0;  ///< kForward, kBackward: visible pairs; without any only writes happen
};

/// How much of a block a trace keeps.
enum class TraceDetail : std::uint8_t {
  kRanges,  ///< the key ranges, row by row, and copies, byte by byte: what a proof of the schedule needs
  kCopies,  ///< the number of visible pairs alone, and copies: nothing but the rows of ranges is not proved
  kPairs,   ///< the number of visible pairs alone, and no copies: proves methods that make none
};

/// The events of one rank, in their order. Written by one thread.
class RankTrace {
 public:
  /// The events so far.
  const std::vector<TraceEvent>& events() const { return events_; }

  /// Records the contents of this memory from here on: "q", "k", "v" or "dout" of rank `owner`.
  void holds(std::string_view name, int owner, const Buffer& buffer, const HeldPart& part = {});
  /// Records that this memory holds a result of the rank's own rows: "out", "lse", "dq", "dk" or "dv".
  void gives(std::string_view name, const Buffer& buffer);
  /// Virtual time is read from this communicator from here on; null: from none.
  void use_clock(Communicator* clock) { clock_ = clock; }

  /// For the base classes, and for traces written by hand: appends an event that begins now and returns its
  /// number.
  std::size_t begin(TraceEvent event);
  /// The event ends now.
  void end(std::size_t event);
  /// Appends an event that was recorded elsewhere, with the times that it has.
  void append(TraceEvent event) { events_.push_back(std::move(event)); }
  /// Whether events of blocks carry their key ranges.
  bool keeps_ranges() const { return detail_ == TraceDetail::kRanges; }
  /// Whether copies are recorded.
  bool keeps_copies() const { return detail_ != TraceDetail::kPairs; }
  /// The present time on the clocks of this trace.
  TraceTime now() const;
  /// The moment from which its wall time counts.
  std::chrono::steady_clock::time_point origin() const { return origin_; }
  /// A start begins.
  std::size_t start(std::span<const Op> ops);
  /// It has ended, and the transport calls it `ticket`.
  void started(std::size_t event, std::uint64_t ticket);
  /// The wait for a ticket begins; nothing if its start was not recorded.
  std::optional<std::size_t> wait(std::uint64_t ticket);

 private:
  friend class Trace;
  using Clock = std::chrono::steady_clock;
  RankTrace(Clock::time_point origin, TraceDetail detail) : origin_(origin), detail_(detail) {}

  Clock::time_point origin_;
  TraceDetail detail_;
  Communicator* clock_ = nullptr;
  std::vector<TraceEvent> events_;
  std::map<std::uint64_t, std::size_t> open_;  // by ticket: the start, not waited for
};

/// The traces of all ranks of a run, on one wall clock.
class Trace {
 public:
  /// Nothing yet. Wall time counts from here.
  explicit Trace(int world_size, TraceDetail detail = TraceDetail::kRanges);

  /// Number of ranks.
  int world_size() const { return static_cast<int>(ranks_.size()); }
  /// One rank's trace.
  RankTrace& rank(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  /// The same, read-only.
  const RankTrace& rank(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<RankTrace> ranks_;
};

}  // namespace ringcraft
