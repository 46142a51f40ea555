#pragma once
/// @file
/// MPI ranks: the second backend. The same ring runs on it unchanged, over processes instead of threads, and
/// gives the same bits. The target ringcraft::mpi exists where MPI is found.

#include <chrono>
#include <memory>

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft {

/// This process's membership in an MPI job: MPI_Init to MPI_Finalize. At most one per process.
class MpiJob {
 public:
  /// MPI_Init. A rank that waits longer than `patience` for a message asks the others what they wait for, and
  /// its wait throws an Error that names the ranks that do not answer, or the cycle of waits; 0: it waits
  /// forever. Throws Error if this process is already a member.
  explicit MpiJob(std::chrono::milliseconds patience = std::chrono::seconds(60));
  /// MPI_Finalize.
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  /// The communicator over all processes of the job; host memory. Sends are synchronous (rendezvous), as
  /// everywhere.
  Communicator& world() { return *world_; }

  /// Ends every process of the job with this exit code.
  [[noreturn]] void abort(int exit_code);

 private:
  std::unique_ptr<Communicator> world_;
};

}  // namespace ringcraft
