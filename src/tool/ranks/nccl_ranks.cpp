// Runs this process as one rank over NCCL.
#include <cstdlib>
#include <cstring>

#include "engine/device_place.hpp"
#include "nccl/nccl_communicator.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/jobs/gather_trace.hpp"
#include "tool/ranks/device_ranks.hpp"
#include "tool/ranks/tile_file.hpp"

namespace ringcraft::tool {
namespace {

using namespace kernels;

// The index of this process among the job's on this machine, from torchrun, mpirun or srun, of which the
// first may be started by the others; 0 for a process alone.
int rank_on_machine() {
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                           "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char* const value = std::getenv(name)) return std::atoi(value);
  return 0;
}

// The id that rank 0 makes, on every rank.
NcclId common_id(Meeting& meeting, const NcclOptions& options) {
  NcclId id{};
  if (meeting.rank() == 0) id = make_nccl_id(options);
  const std::string text = meeting.gathered({reinterpret_cast<const char*>(id.data()), id.size()})[0];
  std::memcpy(id.data(), text.data(), id.size());
  return id;
}

class NcclRanks final : public Ranks {
 public:
  explicit NcclRanks(Meeting& meeting) : meeting_(meeting) {
    options_.device = rank_on_machine();
    try {
      use_device(options_.device);
    } catch (const Error& error) {
      throw Error("--backend nccl needs a CUDA device for each process (" + std::string(error.what()) +
                      "); --backend mpi and threads compute on the CPU",
                  error.code());
    }
  }

  bool speaks() const override { return meeting_.rank() == 0; }

  void require_agreement(const std::function<std::vector<Statement>()>& statements) override {
    tool::require_agreement(meeting_, statements());
  }

  void run(int world_size, DType type, Trace* trace, const std::function<void(RankPlace&)>& body) override {
    require_kernel_type("nccl", type);
    require_job_size(meeting_.world_size(), world_size);
    CudaEngine engine(options_.device,
                      {.tiles = read_tile_table(tile_sizes_file(), use_device(options_.device).name)});
    NcclCommunicator comm(meeting_.rank(), world_size, common_id(meeting_, options_), engine.stream(),
                          options_);
    DevicePlace place(comm, engine, part_of(trace, comm.rank()));
    body(place);
    engine.stream().synchronize();
    comm.throw_if_aborted();
  }

  double gather(const Problem& problem, int degree, Trace& trace) override {
    return gather_trace(meeting_, problem, trace, host_boot(), degree);
  }

 private:
  Meeting& meeting_;
  NcclOptions options_;
};

}  // namespace

std::unique_ptr<Ranks> nccl_ranks(Meeting& meeting) { return std::make_unique<NcclRanks>(meeting); }

}  // namespace ringcraft::tool
