// The list of backward rungs, in the order of their numbers.
#include "backward/backward.hpp"

namespace ringcraft::kernels {

std::span<const BackwardRung* const> backward_rungs() {
  static constexpr const BackwardRung* kAll[] = {&kNaiveBackward, &kTwoKernels, &kTensorCoresBackward,
                                                 &kFusedBackward};
  return kAll;
}

}  // namespace ringcraft::kernels
