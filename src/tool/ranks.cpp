// Ranks as threads or as processes of an MPI job (see ranks.hpp).
#include "tool/ranks.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/error.hpp"
#ifdef RINGCRAFT_HAS_MPI
#include "ringcraft/comm/mpi.hpp"
#endif

namespace ringcraft::tool {
namespace {

#ifdef RINGCRAFT_HAS_MPI
// Ends the job with the error's exit code. All ranks refuse a wrong call alike, so rank 0 speaks for them;
// another rank speaks only if rank 0 has not ended the job shortly after.
[[noreturn]] void end_job(MpiJob& job, const std::string& sentence, Code code) {
  const int rank = job.world().rank();
  if (rank != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  std::fprintf(stderr, "ringcraft: %s%s\n", rank == 0 ? "" : ("rank " + std::to_string(rank) + ": ").c_str(),
               sentence.c_str());
  job.abort(static_cast<int>(code));
}

class JobRanks final : public Ranks {
 public:
  explicit JobRanks(Communicator& comm) : comm_(comm) {}
  bool speaks() const override { return comm_.rank() == 0; }
  void run(int world_size, const std::function<void(Communicator&)>& body) override {
    if (comm_.world_size() != world_size)
      throw Error("--ranks", "the size of the MPI job (" + std::to_string(comm_.world_size()) + ")",
                  std::to_string(world_size), "start it with mpirun -n " + std::to_string(world_size));
    body(comm_);
  }

 private:
  Communicator& comm_;
};

int run_in_job(const std::function<int(Ranks&)>& action) {
  MpiJob job;
  try {
    JobRanks ranks(job.world());
    return action(ranks);
  } catch (const Error& error) {
    end_job(job, error.what(), error.code());
  } catch (const std::exception& error) {
    end_job(job, error.what(), Code::kWrongAnswer);
  }
}
#endif

class ThreadRanks final : public Ranks {
 public:
  bool speaks() const override { return true; }
  void run(int world_size, const std::function<void(Communicator&)>& body) override {
    run_ranks(world_size, [&](ThreadCommunicator& comm) { body(comm); });
  }
};

}  // namespace

int with_ranks(Backend backend, const std::function<int(Ranks&)>& action) {
#ifdef RINGCRAFT_HAS_MPI
  if (backend == Backend::kMpi) return run_in_job(action);
#endif
  (void)backend;  // without MPI there is only one
  ThreadRanks ranks;
  return action(ranks);
}

void gather_to_first(Communicator& comm, Buffer& whole, const Buffer& shard, const Sharding& sharding) {
  if (comm.rank() != 0) return send(comm, 0, shard.bytes());
  gather(whole, shard, sharding, 0);
  Extents e = whole.extents();
  for (int rank = 1; rank < comm.world_size(); ++rank) {
    e.rows = sharding.rows(rank);
    Buffer arriving(e, whole.dtype());
    recv(comm, rank, arriving.bytes());
    gather(whole, arriving, sharding, rank);
  }
}

}  // namespace ringcraft::tool
