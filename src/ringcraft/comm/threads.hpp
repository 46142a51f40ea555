#pragma once
/// @file
/// Thread ranks: N ranks as N threads of this process, meeting on one Switchboard. The default backend: it
/// needs no GPU, no MPI and no NCCL, and it runs the very same ring as they do.

#include <functional>
#include <vector>

#include "ringcraft/comm/switchboard.hpp"

namespace ringcraft {

/// The communicator of a thread rank, extended by the virtual clock.
class ThreadCommunicator : public Communicator {
 public:
  /// Adds computing time to this rank's virtual clock.
  virtual void advance(double seconds) = 0;
  /// This rank's virtual clock in seconds.
  double clock() override = 0;

 protected:
  using Communicator::Communicator;
};

/// Results of a run of thread ranks, per rank.
struct RanksReport {
  std::vector<Traffic> traffic;   ///< bytes and messages of the rank
  std::vector<double> clock;      ///< virtual seconds
  std::vector<Index> peak_bytes;  ///< of the buffers that the rank made
};

/// The largest number of thread ranks: every one is a thread of this process.
inline constexpr int kMostThreadRanks = 4096;

/// Runs `body` once per rank, each in a thread of its own, and returns when all have ended. The buffers of
/// each rank are metered. When a rank throws, or ends while another waits for it, all others end with a
/// report; the exception of the rank that failed first is thrown here. Throws Error if world_size is below 1
/// or above kMostThreadRanks.
RanksReport run_ranks(int world_size, const std::function<void(ThreadCommunicator&)>& body,
                      SwitchboardOptions options = {});

}  // namespace ringcraft
