// Runs ranks as threads or as processes of an MPI job.
#include "tool/ranks/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/jobs/gather_trace.hpp"
#include "tool/jobs/rendezvous.hpp"
#include "tool/ranks/device_ranks.hpp"
#ifdef RINGCRAFT_HAS_MPI
#include "ringcraft/comm/mpi.hpp"
#include "tool/jobs/job_record.hpp"
#include "tool/jobs/start_job.hpp"
#endif

namespace ringcraft::tool {
namespace {

void at_host(DType type, Communicator& comm, Trace* trace, const std::function<void(RankPlace&)>& body) {
  const std::unique_ptr<BlockEngine> engine = make_host_engine(type);
  HostPlace place(comm, *engine, part_of(trace, comm.rank()));
  body(place);
}

#ifdef RINGCRAFT_HAS_MPI
// Ends the job with the error's exit code. Ranks mostly know the same error, so each gives those before it
// the time to report it and to end the job.
[[noreturn]] void end_job(MpiJob& job, const std::string& sentence, Code code) {
  const int rank = job.world().rank();
  std::this_thread::sleep_for(std::chrono::milliseconds(500) * std::min(rank, 8));
  record(RankEvent::kTold);
  std::fprintf(stderr, "ringcraft: %s%s\n", rank == 0 ? "" : ("rank " + std::to_string(rank) + ": ").c_str(),
               sentence.c_str());
  job.abort(static_cast<int>(code));
}

class JobRanks final : public Ranks {
 public:
  explicit JobRanks(Communicator& comm) : comm_(comm) {}
  bool speaks() const override { return comm_.rank() == 0; }
  void require_agreement(const std::function<std::vector<Statement>()>& statements) override {
    CommunicatorMeeting meeting(comm_);
    tool::require_agreement(meeting, statements());
  }
  void run(int world_size, DType type, Trace* trace, const std::function<void(RankPlace&)>& body) override {
    require_job_size(comm_.world_size(), world_size);
    const MeterScope scope(std::make_shared<MemoryMeter>());  // threads have one each already
    at_host(type, comm_, trace, body);
  }
  double gather(const Problem& problem, int degree, Trace& trace) override {
    CommunicatorMeeting meeting(comm_);
    return gather_trace(meeting, problem, trace, host_boot(), degree);
  }

 private:
  Communicator& comm_;
};

int run_as_rank([[maybe_unused]] Backend backend, const JobSize& size,
                const std::function<int(Ranks&)>& action) {
  MpiJob job(size.patience);
  record(RankEvent::kJoined);
  try {
#ifdef RINGCRAFT_HAS_NCCL
    CommunicatorMeeting meeting(job.world());
    if (backend == Backend::kNccl) return action(*nccl_ranks(meeting));
#endif
    JobRanks ranks(job.world());
    const int exit_code = action(ranks);
    record(RankEvent::kDone);
    return exit_code;
  } catch (const Error& error) {
    end_job(job, error.what(), error.code());
  } catch (const std::exception& error) {
    end_job(job, error.what(), Code::kWrongAnswer);
  }
}

int run_in_job(Backend backend, const JobSize& size, const std::function<int(Ranks&)>& action) {
  begin_record();
  const int exit_code = run_as_rank(backend, size, action);
  record(RankEvent::kEnded);
  return exit_code;
}
#endif

class ThreadRanks final : public Ranks {
 public:
  bool speaks() const override { return true; }
  void run(int world_size, DType type, Trace* trace, const std::function<void(RankPlace&)>& body) override {
    run_ranks(world_size, [&](ThreadCommunicator& comm) { at_host(type, comm, trace, body); });
  }
};

#ifdef RINGCRAFT_HAS_NCCL
// Started by itself, a process is the only rank of its job.
int run_alone(const std::function<int(Ranks&)>& action) {
  LonelyMeeting meeting;
  return action(*nccl_ranks(meeting));
}

// Each rank says why it ends: the launcher that started it ends the others.
int run_at_place(const ToldPlace& place, const JobSize& size, const std::function<int(Ranks&)>& action) {
  try {
    Rendezvous meeting(place, size.patience);
    return action(*nccl_ranks(meeting));
  } catch (const Error& error) {
    throw Error("rank " + std::to_string(place.rank) + ": " + error.what(), error.code());
  }
}
#endif

}  // namespace

int with_ranks([[maybe_unused]] Backend backend, [[maybe_unused]] const JobSize& size,
               const std::function<int(Ranks&)>& action) {
#ifdef RINGCRAFT_HAS_EXECUTOR
  if (backend == Backend::kCudaHost) return action(*cuda_host_ranks());
#endif
#ifdef RINGCRAFT_HAS_CUDA
  if (backend == Backend::kCuda) return action(*cuda_ranks());
#endif
#ifdef RINGCRAFT_HAS_NCCL
  if (backend == Backend::kNccl) {
    if (const std::optional<ToldPlace> place = told_place()) return run_at_place(*place, size, action);
    if (!in_job()) return run_alone(action);
  }
#endif
#ifdef RINGCRAFT_HAS_MPI
  if (backend == Backend::kMpi && !in_job()) return start_job(size.ranks, size.patience, size.outputs);
  if (backend == Backend::kMpi || backend == Backend::kNccl) return run_in_job(backend, size, action);
#endif
  ThreadRanks ranks;
  return action(ranks);
}

void require_job_size(int processes, int world_size) {
  if (processes != world_size)
    throw Error("--ranks", "the number of processes of the job (" + std::to_string(processes) + ")",
                std::to_string(world_size),
                "start " + std::to_string(world_size) + " of them" + ", or change --ranks");
}

void require_kernel_type(const char* backend, DType type) {
  if (type != DType::kFloat32)
    throw Error(std::string("--backend ") + backend, "float32", std::string(name_of(type)),
                "add --dtype float32");
}

}  // namespace ringcraft::tool
