#pragma once
/// @file
/// Calls on streams as data: a recorder that writes down what start_on_streams and wait_on_streams ask for.

#include <tuple>
#include <vector>

#include "ringcraft/comm/stream_order.hpp"
#include "ringcraft/comm/trace.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

/// One call of StreamCalls.
struct StreamCall {
  /// Which one.
  enum Kind : std::uint8_t { kRecord, kWait, kGroupStart, kGroupEnd, kSend, kRecv, kSynchronize };

  Kind kind = kRecord;                       ///< which one
  RankStream stream = RankStream::kCompute;  ///< not of a group's ends
  int event = -1;                            ///< of kRecord and kWait
  int peer = -1;                             ///< of kSend and kRecv
  TracedBytes bytes = {};                    ///< of kSend and kRecv

  static auto fields(auto& self) {
    return std::tie(self.kind, self.stream, self.event, self.peer, self.bytes.address, self.bytes.size);
  }
  friend bool operator==(const StreamCall&, const StreamCall&) = default;
};

/// Writes the calls down, and makes none. Throws Error after kMostCalls.
class StreamRecorder final : public StreamCalls {
 public:
  static constexpr std::size_t kMostCalls = 4096;  ///< of one exchange

  std::vector<StreamCall> calls;  ///< in order

  static auto fields(auto& self) { return std::tie(self.calls); }

  void record(int event, RankStream stream) override { add({StreamCall::kRecord, stream, event}); }
  void wait(int event, RankStream stream) override { add({StreamCall::kWait, stream, event}); }
  void group_start() override { add({StreamCall::kGroupStart}); }
  void group_end() override { add({StreamCall::kGroupEnd}); }
  void send(int peer, std::span<const std::byte> bytes, RankStream stream) override {
    add({StreamCall::kSend, stream, -1, peer, TracedBytes(bytes)});
  }
  void recv(int peer, std::span<std::byte> bytes, RankStream stream) override {
    add({StreamCall::kRecv, stream, -1, peer, TracedBytes(bytes)});
  }
  void synchronize(RankStream stream) override { add({StreamCall::kSynchronize, stream}); }

 private:
  void add(const StreamCall& call) {
    if (calls.size() == kMostCalls) throw Error("one exchange makes more than 4096 calls on streams");
    calls.push_back(call);
  }
};

}  // namespace ringcraft
