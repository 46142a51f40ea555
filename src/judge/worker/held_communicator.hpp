#pragma once
/// @file
/// A communicator that makes mistakes with buffers visible: code that touches a buffer in flight computes a
/// wrong result every time, not only sometimes. A transport moves the bytes.

#include <map>
#include <vector>

#include "judge/wire/protocol.hpp"
#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::judge {

/// Receive buffers are filled with ones (NaN) at start and get their bytes in wait; sends leave as Sending
/// says; a buffer that is used twice at once is rejected.
class HeldCommunicator : public Communicator {
 public:
  /// Sends everything that was started and has not left yet.
  void flush();

 protected:
  HeldCommunicator(int rank, int world_size, Sending sending)
      : Communicator(rank, world_size, Space::kHost), sending_(sending) {}

 private:
  struct Started {
    std::uint64_t ticket;
    std::vector<Op> ops;
  };

  /// The operations of a ticket begin: the bytes of the sends are taken, the receives are not written yet.
  virtual void post(std::uint64_t ticket, const std::vector<Op>& ops) = 0;
  /// Returns when they are complete and the receives are written.
  virtual void complete(std::uint64_t ticket, const std::vector<Op>& ops) = 0;

  std::uint64_t do_start(std::span<const Op> ops) override;
  void do_wait(std::uint64_t ticket) override;
  void require_apart(std::span<const Op> ops) const;

  Sending sending_;
  std::uint64_t last_ticket_ = 0;
  std::vector<Started> held_back_;
  std::map<std::uint64_t, std::vector<Op>> open_;  // not waited for
};

}  // namespace ringcraft::judge
