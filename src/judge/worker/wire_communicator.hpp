#pragma once
/// @file
/// The worker's side of the wire: frames read and written with blocking calls, and the communicator whose
/// every message goes through the judge. What happens here is a teaching aid; the judge measures for itself.

#include <map>
#include <vector>

#include "judge/wire.hpp"
#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::judge {

/// Reads the next frame; ends the process if the judge is gone.
Frame read_frame();
/// Writes a frame.
void write_frame(FrameKind kind, const Bytes& bytes);

/// A rank of a world whose other ranks are other workers. Receive buffers are filled with ones (NaN) at start
/// and get their bytes in wait; sends leave as Sending says. So a program that touches a buffer under way
/// computes a wrong result every time, not now and then.
class WireCommunicator final : public Communicator {
 public:
  WireCommunicator(int rank, int world_size, Sending sending)
      : Communicator(rank, world_size, Space::kHost), sending_(sending) {}

  /// Hands over what was started and has not left yet.
  void flush();

 private:
  struct Started {
    std::uint64_t ticket;
    std::vector<Op> ops;
  };

  std::uint64_t do_start(std::span<const Op> ops) override;
  void do_wait(std::uint64_t ticket) override;
  void require_apart(std::span<const Op> ops) const;

  Sending sending_;
  std::uint64_t last_ticket_ = 0;
  std::vector<Started> held_back_;
  std::map<std::uint64_t, std::vector<Op>> open_;  // not waited for
};

}  // namespace ringcraft::judge
