#pragma once
/// @file
/// The CUDA kernels as stages of the ladder: once on the CPU, by the host executor, and once on a GPU. The
/// library ringcraft_verify has neither; a program that runs them is linked with ringcraft_host_kernel_stages
/// or ringcraft_cuda_kernel_stages.

#include <string>
#include <vector>

#include "verify/ladder/ladder.hpp"

namespace ringcraft::verify {

/// The stages of one device.
struct KernelStages {
  std::string device;          ///< "the CPU", "NVIDIA H200"; empty: there is none, and no stage
  Index largest_head_dim = 0;  ///< that all of them take
  /// In the order of the lessons, 201 to 206. The inputs are float32, and rounded to bfloat16 already if the
  /// stages on tensor cores are to compute on the same numbers. All answer in float32.
  std::vector<Stage> stages;
};

/// On the CPU. The rings among them deal their tokens in this layout.
KernelStages host_kernel_stages(Layout layout);
/// On the first GPU, if there is one.
KernelStages cuda_kernel_stages(Layout layout);

}  // namespace ringcraft::verify
