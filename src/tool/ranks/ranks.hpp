#pragma once
// The place of ranks: threads of this process, or processes of an MPI job of which this process is one rank.

#include <functional>

#include "ringcraft/parallel/recording.hpp"
#include "tool/commands/options.hpp"

namespace ringcraft::tool {

// The ranks of a backend, seen from this process.
class Ranks {
 public:
  virtual ~Ranks() = default;
  // Whether this process writes and prints: always with threads, rank 0 in a job.
  virtual bool speaks() const = 0;
  // Runs the body at the place of every rank that this process holds: all N with threads, its own in a job.
  // `trace` records their events, unless it is null. Throws Error if a job has another size than world_size,
  // and if the ranks do not compute in this number type.
  virtual void run(int world_size, DType type, Trace* trace, const std::function<void(RankPlace&)>& body) = 0;
};

// Runs a command's action on a backend and returns its exit code. In an MPI job an exception that leaves a
// rank ends the job with the error's exit code; a call that all ranks refuse alike is reported once.
int with_ranks(Backend backend, const std::function<int(Ranks&)>& action);

// Throws Error unless the job has as many processes as --ranks asks for.
void require_job_size(const Communicator& job, int world_size);

}  // namespace ringcraft::tool
