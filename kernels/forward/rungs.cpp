// The list of forward rungs (see forward.hpp).
#include "forward/forward.hpp"

namespace ringcraft::kernels {

std::span<const ForwardRung* const> forward_rungs() {
  static constexpr const ForwardRung* kAll[] = {&kNaive, &kTiles, &kOnlineSoftmax, &kTensorCores, &kPipeline};
  return kAll;
}

}  // namespace ringcraft::kernels
