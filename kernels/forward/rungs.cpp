// The list of forward rungs, and what they have in common (see forward.hpp).
#include <string>

#include "forward/forward.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::kernels {

std::span<const ForwardRung* const> forward_rungs() {
  static constexpr const ForwardRung* kAll[] = {&kNaive, &kTiles, &kOnlineSoftmax, &kTensorCores, &kPipeline};
  return kAll;
}

void refuse(const ForwardRung& rung, DType dtype, Index head_dim) {
  const std::string who = "forward kernel " + std::to_string(rung.number) + ", " + rung.name;
  if (dtype != rung.dtype)
    throw Error(who, std::string(name_of(rung.dtype)), std::string(name_of(dtype)), "take another rung");
  if (head_dim < 1 || head_dim > rung.largest_head_dim)
    throw Error(who, "head_dim 1 to " + std::to_string(rung.largest_head_dim), std::to_string(head_dim),
                "use a host engine");
}

Index workspace_of(const ForwardRung& rung, const ForwardStep& step) {
  return rung.workspace == nullptr ? 0 : rung.workspace(step);
}

void run(const ForwardRung& rung, const ForwardStep& step, float* workspace_gmem, cudaStream_t stream) {
  refuse(rung, rung.dtype, step.head_dim);
  if (step.batch == 0 || step.heads == 0 || step.rows == 0 || step.keys == 0) return;
  rung.run(step, workspace_gmem, stream);
}

}  // namespace ringcraft::kernels
