#pragma once
/// @file
/// The order in which a start and a wait put events, groups and messages on the two streams of a rank (lesson
/// 306): the one place that the communicators over NCCL and over loopback call. It knows no CUDA: the calls
/// are an interface.

#include <cstdint>
#include <span>
#include <tuple>

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft {

/// One of the two streams of a rank. Work on one stream runs in order; two streams run side by side.
enum class RankStream : std::uint8_t { kCompute, kCommunication };

/// The numbers of the two events of one exchange.
struct ExchangeEvents {
  int ready;  ///< for the moment from which its operations may touch their bytes
  int done;   ///< for the moment at which all of them have ended

  static auto fields(auto& self) { return std::tie(self.ready, self.done); }
};

/// The calls that put work on streams. Each returns at once, but for synchronize.
class StreamCalls {
 public:
  virtual ~StreamCalls() = default;

  /// Marks the end of the work that the stream holds now.
  virtual void record(int event, RankStream stream) = 0;
  /// Work that enters the stream from now on begins after the event, as it is recorded now.
  virtual void wait(int event, RankStream stream) = 0;
  /// Opens a group: its operations enter their stream together, when it is closed, and progress together.
  virtual void group_start() = 0;
  /// Closes the group.
  virtual void group_end() = 0;
  /// Sends to `peer`. Outside of a group it is an operation of its own, which ends once the peer has
  /// received.
  virtual void send(int peer, std::span<const std::byte> bytes, RankStream stream) = 0;
  /// Receives from `peer`; otherwise like send.
  virtual void recv(int peer, std::span<std::byte> bytes, RankStream stream) = 0;
  /// Returns once all the work that the stream holds has ended: the host waits.
  virtual void synchronize(RankStream stream) = 0;
};

/// Starts the operations (valid peers, no empty message, at least one): they begin after all that the compute
/// stream holds now, and progress together while later work computes. Leaves `events.done` recorded.
void start_on_streams(StreamCalls& calls, std::span<const Op> ops, const ExchangeEvents& events);

/// Work that enters the compute stream from now on begins after the operations that were started with these
/// events. The host does not wait.
void wait_on_streams(StreamCalls& calls, const ExchangeEvents& events);

}  // namespace ringcraft
