#pragma once
/// @file
/// Kernels with one mistake each, and the same kernels without it.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

namespace ringcraft::kernels {

/// Floats of device memory that such a kernel gets.
inline constexpr int kPlantedFloats = 1024;
using PlantedKernel = void (*)(float* gmem);

/// A mistake.
struct Planted {
  std::string name;
  PlantedKernel right, wrong;
  unsigned blocks, threads;
  std::size_t shared_bytes;
  /// Parts of the finding's sentence; "{x}" stands for the place of the line of planted.cu with the comment
  /// "// x".
  std::vector<std::string> said;
};
const std::vector<Planted>& planted();

/// Launches a kernel as the mistake wants it.
void launch_planted(const Planted& mistake, PlantedKernel kernel, float* gmem);

}  // namespace ringcraft::kernels
