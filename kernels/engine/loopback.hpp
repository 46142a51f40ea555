#pragma once
/// @file
/// Loopback: N virtual ranks on one GPU, each a thread of the host with an engine, a stream to compute on and
/// one to copy on. A Switchboard matches their messages; a message that has met its receive becomes a copy
/// from device memory to device memory, ordered by events alone. The host waits until the other side has
/// enqueued its half, never for the device, and on the device nothing spins: enqueued work waits only for
/// work that was enqueued before. So it needs no second GPU and cannot hang for lack of room on the first.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "engine/device_memory.hpp"
#include "ringcraft/comm/switchboard.hpp"

namespace ringcraft::kernels {

/// State shared by the virtual ranks: the stream that each copies on.
class Loopback {
 public:
  /// Uses this device, counted from 0. Throws Error (Code::kMissing) if it is not there.
  explicit Loopback(int world_size, int device = 0);

  /// The options of run_ranks for ranks whose messages lie in device memory. The loopback must outlive that
  /// run.
  SwitchboardOptions options(std::uint64_t delivery_seed = 0);
  /// The stream on which this rank's messages arrive, and after whose work they leave.
  const Stream& copies(int rank) const { return copies_[static_cast<std::size_t>(rank)]; }

 private:
  void carry(const Delivery& message) const;

  std::deque<Stream> copies_;  // by rank
};

struct LoopbackExchange;

/// One virtual rank's end. start: later copies of the rank wait for its computation so far. wait: its later
/// computation waits for its copies so far.
class LoopbackCommunicator final : public Communicator {
 public:
  /// `host`: the rank in a run_ranks with the loopback's options. `compute`: the stream of the rank's engine.
  /// All three outlive this.
  LoopbackCommunicator(Communicator& host, const Stream& compute, const Loopback& loopback);
  ~LoopbackCommunicator() override;

 private:
  std::uint64_t do_start(std::span<const Op> ops) override;
  void do_wait(std::uint64_t ticket) override;
  void do_give_up() override;

  Communicator& host_;
  const Stream &compute_, &copies_;
  std::map<std::uint64_t, std::unique_ptr<LoopbackExchange>> matching_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace ringcraft::kernels
