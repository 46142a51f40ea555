#pragma once
/// @file
/// Offers the CUDA kernels as stages of the ladder: on the CPU by the host executor, and on a GPU. The
/// library ringcraft_verify contains neither; a program that runs them links ringcraft_host_kernel_stages or
/// ringcraft_cuda_kernel_stages.

#include <string>
#include <vector>

#include "verify/ladder/ladder.hpp"

namespace ringcraft::verify {

/// The stages of one device.
struct KernelStages {
  std::string device;          ///< "the CPU", "NVIDIA H200"; empty: no device, and no stages
  Index largest_head_dim = 0;  ///< that all of them accept
  /// In the order of the lessons, 201 to 206. The inputs are float32, already rounded to bfloat16 if the
  /// stages on tensor cores are to compute with the same numbers. All stages answer in float32.
  std::vector<Stage> stages;
};

/// Stages on the CPU. Their rings distribute tokens in this layout.
KernelStages host_kernel_stages(Layout layout);
/// Stages on the first GPU, if there is one.
KernelStages cuda_kernel_stages(Layout layout);

}  // namespace ringcraft::verify
