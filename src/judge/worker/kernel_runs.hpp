#pragma once
/// @file
/// One step, forward or backward, or one merge, on the executor: arrays to the device, a checked launch,
/// arrays back. A failed launch is an answer like any other: the arrays that it left are sent with the words
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

/// A device copy of an array, a separate cudaMalloc, so that accesses beside it hit no other array.
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

/// Runs a launch under these settings, with names for its arrays, and returns its reply.
KernelRun launched(const simt::Settings& settings, const std::function<void()>& launch,
                   std::initializer_list<std::pair<const void*, const char*>> names);

/// Runs a step with the kernels of a rung.
KernelRun run(const kernels::ForwardRung& rung, const KernelStep& step);
KernelRun run(const kernels::BackwardRung& rung, const GradientStep& step);

}  // namespace ringcraft::judge
