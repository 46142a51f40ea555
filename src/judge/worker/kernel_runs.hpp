#pragma once
/// @file
/// One step, forward or backward, or one merge, on the executor: arrays to the device, a checked launch,
/// arrays back. A launch that fails is an answer like any other: what it left behind travels with the words
/// of the finding.

#include <functional>
#include <initializer_list>
#include <utility>

#include "backward/backward.hpp"
#include "engine/check.hpp"
#include "forward/forward.hpp"
#include "host/executor.hpp"
#include "judge/wire/kernel_exercises.hpp"

namespace ringcraft::judge {

/// A device copy of an array, a piece of cudaMalloc by itself, so that what lies beside it is nobody's.
template <class T>
class DeviceCopy {
 public:
  explicit DeviceCopy(std::span<T> host) : host_(host) {
    RINGCRAFT_CUDA(cudaMalloc(&memory_, host.size_bytes()));
    RINGCRAFT_CUDA(cudaMemcpyAsync(memory_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice, nullptr));
  }
  ~DeviceCopy() { cudaFree(memory_); }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  T* gmem() const { return static_cast<T*>(memory_); }
  void bring_back() const {
    RINGCRAFT_CUDA(
        cudaMemcpyAsync(host_.data(), memory_, host_.size_bytes(), cudaMemcpyDeviceToHost, nullptr));
  }

 private:
  std::span<T> host_;
  void* memory_ = nullptr;
};

/// What a launch says when it is run under these settings, with names for its arrays.
KernelRun launched(const simt::Settings& settings, const std::function<void()>& launch,
                   std::initializer_list<std::pair<const void*, const char*>> names);

/// Runs a step with the kernels of a rung.
KernelRun run(const kernels::ForwardRung& rung, const KernelStep& step);
KernelRun run(const kernels::BackwardRung& rung, const GradientStep& step);

}  // namespace ringcraft::judge
