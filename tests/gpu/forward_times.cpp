// Times the forward kernels, full and causal, head_dim 64 and 128.
#include "checks.hpp"
#include "timing.hpp"

namespace ringcraft::kernels {

void time_kernels(Runner& runner) { time_rungs(runner, forward_rungs(), Pass::kForward); }

}  // namespace ringcraft::kernels
