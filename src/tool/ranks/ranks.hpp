#pragma once
// The place of ranks: threads of this process, or processes of an MPI job of which this process is one rank.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ringcraft/parallel/recording.hpp"
#include "tool/commands/options.hpp"
#include "tool/jobs/agreement.hpp"

namespace ringcraft::tool {

// The ranks of a backend, seen from this process.
class Ranks {
 public:
  virtual ~Ranks() = default;
  // Whether this process writes and prints: always with threads, rank 0 in a job.
  virtual bool speaks() const = 0;
  // Throws Error unless the ranks of a job state the same (jobs/agreement.hpp); threads share their flags.
  // `statements` is called in a job alone.
  virtual void require_agreement(const std::function<std::vector<Statement>()>&) {}
  // Runs the body at the place of every rank that this process holds: all N with threads, its own in a job.
  // `trace` records their events, unless it is null. Throws Error if a job has another size than world_size,
  // and if the ranks do not compute in this number type.
  virtual void run(int world_size, DType type, Trace* trace, const std::function<void(RankPlace&)>& body) = 0;
  // After a run that was recorded, of a method that deals heads among `degree` neighbours (1: among none): the
  // process that speaks gets the events of all ranks, on one clock.
  // Returns the seconds by which the clocks of two ranks may differ there (jobs/gather_trace.hpp); threads
  // share one.
  virtual double gather(const Problem&, int /*degree*/, Trace&) { return 0; }
};

// The job that a backend of processes needs.
struct JobSize {
  int ranks = 1;
  std::chrono::milliseconds patience = std::chrono::seconds(60);  // see MpiJob
  std::vector<std::string> outputs = {};                          // files that rank 0 writes; empty: none
};

// Runs a command's action on a backend and returns its exit code. --backend mpi starts itself as a job,
// unless this process is a rank of one; --backend nccl is one where variables tell it its place (told_place),
// or mpirun started it. In a job an exception that leaves a rank ends the job with the
// error's exit code; a call that all ranks refuse alike is reported once.
int with_ranks(Backend backend, const JobSize& size, const std::function<int(Ranks&)>& action);

// Throws Error unless the job has as many processes as --ranks asks for.
void require_job_size(int processes, int world_size);

}  // namespace ringcraft::tool
