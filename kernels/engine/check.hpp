#pragma once
/// @file
/// Every CUDA call goes through RINGCRAFT_CUDA: a failure becomes an Error that names the file, the line, the
/// call and the runtime's own words. A device, a driver or memory that is not there is Code::kMissing, work
/// that went astray on the device is Code::kWrongAnswer.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "ringcraft/core/error.hpp"

namespace ringcraft::kernels {

/// The kind of failure that a CUDA error reports.
inline Code code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorNoDevice:
    case cudaErrorStubLibrary:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorMemoryAllocation:
      return Code::kMissing;
    default:
      return Code::kWrongAnswer;
  }
}

/// Throws Error unless the call succeeded. Use the macro, which fills in the last three arguments.
inline void check(cudaError_t error, const char* call, std::string_view file, int line) {
  if (error == cudaSuccess) return;
  file.remove_prefix(
      std::min(file.rfind('/') + 1, file.size()));  // the name is enough: no two files share one
  throw Error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " + cudaGetErrorString(error),
              code_of(error));
}

}  // namespace ringcraft::kernels

/// Evaluates a CUDA runtime call and throws Error if it fails.
#define RINGCRAFT_CUDA(call) ::ringcraft::kernels::check((call), #call, __FILE__, __LINE__)
