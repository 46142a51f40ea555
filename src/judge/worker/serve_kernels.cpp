// Calls the exercises of a lesson with kernels, RINGCRAFT_SERVED, by their names.
#include "host/device_heap.hpp"
#include "judge/worker/kernel_runs.hpp"
#include "judge/worker/serve.hpp"
#include "judge/worker/serve_table.hpp"

namespace ringcraft::judge {
namespace {

using kernels::BackwardRung;
using kernels::ForwardRung;

// The rung of an exercise: a rung that no exercise of this lesson names is not linked.
template <int kNumber>
constexpr const ForwardRung& forward_rung() {
  if constexpr (kNumber == 1) return kernels::kNaive;
  if constexpr (kNumber == 2) return kernels::kTiles;
  if constexpr (kNumber == 4) return kernels::kTensorCores;
  if constexpr (kNumber == 5) return kernels::kPipeline;
}
template <int kNumber>
constexpr const BackwardRung& backward_rung() {
  if constexpr (kNumber == 2) return kernels::kTwoKernels;
}

}  // namespace

template <int kRung>
KernelRun run_forward(const KernelStep& step) {
  return run(forward_rung<kRung>(), step);
}

template <int kRung>
KernelRun run_backward(const GradientStep& step) {
  return run(backward_rung<kRung>(), step);
}

Bytes serve(const std::string& exercise, Reader& arguments, Arena& arena, Communicator& comm) {
  simt::DeviceHeap::get().gather();
  return serve_one_of(std::type_identity<std::tuple<RINGCRAFT_SERVED>>{}, exercise, arguments, arena, comm,
                      nullptr);
}

}  // namespace ringcraft::judge
