#pragma once
// Where ranks live: as threads of this process, or as processes of an MPI job of which this process is one
// rank.

#include <functional>

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/problem/layout.hpp"
#include "tool/options.hpp"

namespace ringcraft::tool {

// The ranks of a backend, seen from this process.
class Ranks {
 public:
  virtual ~Ranks() = default;
  // Whether this process writes and prints: always with threads, rank 0 with MPI.
  virtual bool speaks() const = 0;
  // Runs the body on every rank that this process holds: all N with threads, its own with MPI. Throws Error
  // if an MPI job has another size than world_size.
  virtual void run(int world_size, const std::function<void(Communicator&)>& body) = 0;
};

// Runs a command's action on a backend and returns its exit code. In an MPI job an exception that leaves a
// rank ends the job with the error's exit code; a call that all ranks refuse alike is reported once.
int with_ranks(Backend backend, const std::function<int(Ranks&)>& action);

// Sends this rank's shard to rank 0, which puts all of them into `whole` ([batch, heads, seqlen, width]; used
// on rank 0 only).
void gather_to_first(Communicator& comm, Buffer& whole, const Buffer& shard, const Sharding& sharding);

}  // namespace ringcraft::tool
