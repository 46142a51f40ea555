#pragma once
// bench kernels: every rung of the CUDA kernels on the first GPU, beside its peak and beside PyTorch's
// attention; and with --tune, which tile sizes are the fastest there.

#include <string>

namespace ringcraft::tool {

struct KernelBench {
  std::string python, json;  // --json: empty for none
  bool tune = false;
};

// Measures, prints and writes; returns the exit code. Throws Error (Code::kMissing) without a GPU: times of
// other devices are not shown.
int bench_kernels(const KernelBench& options);

}  // namespace ringcraft::tool
