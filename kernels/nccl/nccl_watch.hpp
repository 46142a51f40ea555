#pragma once
/// @file
/// A thread that polls the state of NCCL's messages, since the host never waits for them. If NCCL reports an
/// error, or the messages of this rank do not end in time, it aborts the communicator. Kernels that spin on
/// the device then end, and so do the host's calls that wait for them; the next call throws the reason.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/device_memory.hpp"
#include "nccl/nccl_calls.hpp"

namespace ringcraft::kernels {

/// The messages of one start, between two events.
struct NcclExchange {
  Event ready;  ///< on the computing stream: data to send is complete, and receive buffers are free
  Event done;   ///< on the copying stream
};

/// Owns a communicator of NCCL, and watches it.
class NcclWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// Takes `comm` over. `device`: the one that it is on.
  NcclWatch(const NcclCalls& nccl, ncclComm_t comm, int device, Clock::duration timeout);
  /// Ends the communicator. For a clean end, wait for its messages first.
  ~NcclWatch();
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;

  /// Runs `body`, which calls NCCL, on the communicator. Throws Error if that was aborted, before or
  /// meanwhile.
  void call(const std::function<void(ncclComm_t)>& body);
  /// From now on these messages are waited for. In the order of the stream.
  void expect(std::shared_ptr<const NcclExchange> exchange);
  /// Aborts the communicator, unless that has happened.
  void abort(const std::string& reason);
  /// Throws Error with the reason if the communicator was aborted.
  void throw_if_aborted();

 private:
  void run();
  void look();
  void abort_locked(const std::string& reason);
  void throw_locked() const;
  bool late(std::optional<Clock::time_point>& since, bool waiting);

  const NcclCalls& nccl_;
  ncclComm_t comm_;  // null: aborted
  int device_;
  Clock::duration timeout_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool calling_ = false, ending_ = false;
  std::deque<std::shared_ptr<const NcclExchange>> open_;           // oldest first
  std::optional<Clock::time_point> calling_since_, moving_since_;  // as far as the watch has seen
  std::optional<std::string> aborted_;
  std::thread thread_;
};

}  // namespace ringcraft::kernels
