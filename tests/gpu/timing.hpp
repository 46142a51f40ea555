#pragma once
/// @file
/// Device time of what is enqueued on a stream.

#include <algorithm>
#include <array>

#include "engine/check.hpp"
#include "engine/device_memory.hpp"

namespace ringcraft::kernels {

/// Median of ten runs of `body`, in ms of device time; a run before them loads the kernels.
template <class Body>
double median_milliseconds(const Stream& stream, Body body) {
  body();
  cudaEvent_t start, stop;
  RINGCRAFT_CUDA(cudaEventCreate(&start));
  RINGCRAFT_CUDA(cudaEventCreate(&stop));
  std::array<float, 10> runs;
  for (float& run : runs) {
    RINGCRAFT_CUDA(cudaEventRecord(start, stream.get()));
    body();
    RINGCRAFT_CUDA(cudaEventRecord(stop, stream.get()));
    RINGCRAFT_CUDA(cudaEventSynchronize(stop));
    RINGCRAFT_CUDA(cudaEventElapsedTime(&run, start, stop));
  }
  RINGCRAFT_CUDA(cudaEventDestroy(start));
  RINGCRAFT_CUDA(cudaEventDestroy(stop));
  std::sort(runs.begin(), runs.end());
  return (double{runs[4]} + double{runs[5]}) / 2;
}

}  // namespace ringcraft::kernels
