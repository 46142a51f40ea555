#pragma once
/// @file
/// The worker's side of the wire: frames read and written with blocking calls, and the communicator whose
/// every message goes through the judge. Its checks are a teaching aid; the judge measures for itself.

#include <vector>

#include "judge/wire/wire.hpp"
#include "judge/worker/held_communicator.hpp"

namespace ringcraft::judge {

/// Reads the next frame; ends the process if the judge has closed the connection.
Frame read_frame();
/// Writes a frame.
void write_frame(FrameKind kind, const Bytes& bytes);

/// A rank of a world whose other ranks are other workers.
class WireCommunicator final : public HeldCommunicator {
 public:
  WireCommunicator(int rank, int world_size, Sending sending) : HeldCommunicator(rank, world_size, sending) {}

 private:
  void post(std::uint64_t ticket, const std::vector<Op>& ops) override;
  void complete(std::uint64_t ticket, const std::vector<Op>& ops) override;
};

}  // namespace ringcraft::judge
