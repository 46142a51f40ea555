// Runs this process as one rank over NCCL.
#include <cstdlib>

#include "engine/device_place.hpp"
#include "nccl/nccl_communicator.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/jobs/gather_trace.hpp"
#include "tool/ranks/device_ranks.hpp"
#include "tool/ranks/tile_file.hpp"

namespace ringcraft::tool {
namespace {

using namespace kernels;

// The index of this process among the job's on this machine, from mpirun or srun; 0 for a process alone.
int rank_on_machine() {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char* const value = std::getenv(name)) return std::atoi(value);
  return 0;
}

class NcclRanks final : public Ranks {
 public:
  explicit NcclRanks(Communicator& host) : host_(host) {
    options_.device = rank_on_machine();
    try {
      use_device(options_.device);
    } catch (const Error& error) {
      throw Error("--backend nccl needs a CUDA device for each process (" + std::string(error.what()) +
                      "); --backend mpi and threads compute on the CPU",
                  error.code());
    }
  }

  bool speaks() const override { return host_.rank() == 0; }

  void run(int world_size, DType type, Trace* trace, const std::function<void(RankPlace&)>& body) override {
    require_kernel_type("nccl", type);
    require_job_size(host_, world_size);
    CudaEngine engine(options_.device,
                      {.tiles = read_tile_table(tile_sizes_file(), use_device(options_.device).name)});
    NcclCommunicator comm(host_.rank(), world_size, agreed_nccl_id(host_, options_), engine.stream(),
                          options_);
    DevicePlace place(comm, engine, part_of(trace, comm.rank()));
    body(place);
    engine.stream().synchronize();
    comm.throw_if_aborted();
  }

  double gather(const Problem& problem, Trace& trace) override { return gather_trace(host_, problem, trace); }

 private:
  Communicator& host_;
  NcclOptions options_;
};

}  // namespace

std::unique_ptr<Ranks> nccl_ranks(Communicator& host) { return std::make_unique<NcclRanks>(host); }

}  // namespace ringcraft::tool
