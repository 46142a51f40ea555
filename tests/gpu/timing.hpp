#pragma once
/// @file
/// Device time of what is enqueued on a stream, and of all rungs of a ladder.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "engine/check.hpp"
#include "engine/device_memory.hpp"
#include "engine/rung.hpp"
#include "ringcraft/problem/mask.hpp"
#include "runner.hpp"

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

/// Numbers of q per token, in all heads.
inline constexpr Index kModelWidth = 2048;

/// Tokens that a rung is timed with. One that stores score matrices gets fewer: 32 heads of 4096 are 2 GB,
/// and P and dS twice that.
template <class Step>
Index tokens_for(const Rung<Step>& rung) {
  return rung.workspace == nullptr ? 8192 : 4096;
}

/// Figures of something that took `ms` for so many operations.
inline Verdict timed(double ms, double operations) {
  return {"", {{"ms", ms}, {"TFLOP/s", operations / (1e9 * ms)}}};
}

/// One check, time(rung, head_dim, mask), for every rung, full and causal, with head_dim 64 and 128.
template <class Step, class Time>
void time_rungs(Runner& runner, std::span<const Rung<Step>* const> rungs, Time time) {
  for (const Rung<Step>* rung : rungs)
    for (const Index head_dim : {64, 128})
      for (const auto& [name, mask] : {std::pair{"full", full_mask()}, {"causal", causal_mask()}})
        if (head_dim <= rung->largest_head_dim)
          runner.check("time of " + std::to_string(rung->number) + " " + rung->name + ", " +
                           std::to_string(tokens_for(*rung)) + " tokens, head_dim " +
                           std::to_string(head_dim) + ", " + name,
                       [&] { return time(*rung, head_dim, mask); });
}

}  // namespace ringcraft::kernels
