// Runs virtual ranks on one device. Compiled twice, for a GPU and for the CPU; RINGCRAFT_DEVICE_RANKS is the
// function's name and RINGCRAFT_DEVICE_BACKEND its name on the command line.
#include "tool/ranks/device_ranks.hpp"

#include "engine/device_place.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/ranks/tile_file.hpp"

namespace ringcraft::tool {
namespace {

using namespace kernels;

class LoopbackRanks final : public Ranks {
 public:
  bool speaks() const override { return true; }
  void run(int world_size, DType type, Trace* trace, const std::function<void(RankPlace&)>& body) override {
    require_kernel_type(RINGCRAFT_DEVICE_BACKEND, type);
    Loopback loopback(world_size);
    const CudaRungs rungs{.tiles = read_tile_table(tile_sizes_file(), use_device().name)};
    const auto run_rank = [&](ThreadCommunicator& host) {
      at_loopback(loopback, host, rungs, part_of(trace, host.rank()), body);
    };
    run_ranks(world_size, run_rank, loopback.options());
  }
};

}  // namespace

std::unique_ptr<Ranks> RINGCRAFT_DEVICE_RANKS() {
  try {
    use_device();
  } catch (const Error& error) {
    throw Error("--backend " RINGCRAFT_DEVICE_BACKEND " needs a CUDA device (" + std::string(error.what()) +
                    "); cuda-host runs the same kernels on the CPU",
                error.code());
  }
  return std::make_unique<LoopbackRanks>();
}

}  // namespace ringcraft::tool
