// Defines the backends for GPUs in a program without them. The launcher starts the other program for them.
#include "ringcraft/core/error.hpp"
#include "tool/bench/bench_kernels.hpp"
#include "tool/ranks/device_ranks.hpp"
#include "verify/ladder/kernel_stages.hpp"

namespace ringcraft::tool {
namespace {

[[noreturn]] void absent(const std::string& what) {
  throw Error(what + " computes on GPUs, which this program does not; call ./ringcraft in " +
                  "the project's folder, which starts the one that does",
              Code::kMissing);
}

}  // namespace

std::unique_ptr<Ranks> cuda_ranks() { absent("--backend cuda"); }
std::unique_ptr<Ranks> nccl_ranks(Meeting&) { absent("--backend nccl"); }
int bench_kernels(const KernelBench&) { absent("bench kernels"); }

}  // namespace ringcraft::tool

namespace ringcraft::verify {

KernelStages cuda_kernel_stages(Layout) { return {}; }

}  // namespace ringcraft::verify
