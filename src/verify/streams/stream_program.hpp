#pragma once
/// @file
/// The work of ranks with two streams each, as data: computations with the memory that they touch, and the
/// calls that starts and waits make. Taken from a recorded run on thread ranks.

#include <functional>
#include <span>
#include <vector>

#include "ringcraft/comm/stream_record.hpp"
#include "ringcraft/comm/trace.hpp"

namespace ringcraft::verify {

/// One thing that a rank's host does.
struct StreamStep {
  /// Which.
  enum Kind : std::uint8_t { kCompute, kStart, kWait };

  Kind kind = kCompute;
  int exchange = -1;                         ///< kStart, kWait: which one of the rank, from 0
  std::vector<TracedTensor> tensors = {};    ///< kCompute: memory that it reads and writes
  std::vector<TracedMessage> messages = {};  ///< kStart: its operations
  std::vector<StreamCall> calls = {};        ///< kStart, kWait: what enters the streams
};

/// The steps of every rank, in order.
using StreamProgram = std::vector<std::vector<StreamStep>>;

/// The numbers of the events of a rank's exchange.
constexpr ExchangeEvents events_of(int exchange) { return {2 * exchange, 2 * exchange + 1}; }

/// Two functions to judge, as the calls that they make.
struct StreamOrder {
  std::function<std::vector<StreamCall>(std::span<const TracedMessage>, const ExchangeEvents&)> start;
  std::function<std::vector<StreamCall>(const ExchangeEvents&)> wait;
};

/// The library's own order: start_on_streams and wait_on_streams.
StreamOrder library_order();
/// The operations as start_on_streams takes them. Their bytes are those of a device: nobody may touch them.
std::vector<Op> ops_of(std::span<const TracedMessage> messages);

/// The program of a recorded run, without calls. A run that records messages alone computes as well: before a
/// start it writes what it sends and reads what it receives into; after the wait the other way around.
StreamProgram program_of(const Trace& trace);
/// The same program with the calls of this order.
StreamProgram with_calls(StreamProgram program, const StreamOrder& order);

/// Forward and backward pass of the library's ring on n ranks, and three patterns of messages: odd/even, a
/// ring all-gather, and a direct exchange of all ranks with all, whose lists begin at different peers.
enum class StreamPattern : std::uint8_t { kForward, kBackward, kOddEven, kAllGather, kAllToAll };
/// "ring forward", "odd/even".
const char* name_of(StreamPattern pattern);
/// Records it.
StreamProgram recorded(StreamPattern pattern, int n);

}  // namespace ringcraft::verify
