// The list of backward rungs, and what they have in common (see backward.hpp).
#include <string>

#include "backward/backward.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::kernels {

std::span<const BackwardRung* const> backward_rungs() {
  static constexpr const BackwardRung* kAll[] = {&kNaiveBackward, &kTwoKernels};
  return kAll;
}

void refuse(const BackwardRung& rung, DType dtype, Index head_dim) {
  const std::string who = "backward kernel " + std::to_string(rung.number) + ", " + rung.name;
  if (dtype != rung.dtype)
    throw Error(who, std::string(name_of(rung.dtype)), std::string(name_of(dtype)), "take another rung");
  if (head_dim < 1 || head_dim > rung.largest_head_dim)
    throw Error(who, "head_dim 1 to " + std::to_string(rung.largest_head_dim), std::to_string(head_dim),
                "use a host engine");
}

Index workspace_of(const BackwardRung& rung, const BackwardStep& step) {
  return rung.workspace == nullptr ? 0 : rung.workspace(step);
}

void run(const BackwardRung& rung, const BackwardStep& step, float* workspace_gmem, cudaStream_t stream) {
  refuse(rung, rung.dtype, step.head_dim);
  if (step.batch == 0 || step.heads == 0 || step.rows == 0 || step.keys == 0) return;
  rung.run(step, workspace_gmem, stream);
}

}  // namespace ringcraft::kernels
