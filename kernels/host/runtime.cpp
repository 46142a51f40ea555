// The runtime calls on the CPU (see cuda_runtime_api.h).
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "host/cuda_runtime_api.h"
#include "host/device_heap.hpp"

struct RingcraftStream {};
struct RingcraftEvent {
  std::chrono::steady_clock::time_point recorded;
};

namespace {

using ringcraft::simt::DeviceHeap;

bool on_device(const void* memory, std::size_t bytes) { return DeviceHeap::get().holds(memory, bytes); }

cudaError_t valid(bool good) { return good ? cudaSuccess : cudaErrorInvalidValue; }

}  // namespace

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    default:
      return "an error that does not happen on the CPU";
  }
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  std::snprintf(properties->name, sizeof properties->name, "CPU (host executor)");
  properties->major = 8;
  properties->minor = 0;
  properties->totalGlobalMem =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return cudaSetDevice(device);
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = DeviceHeap::get().allocate(bytes);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* memory) { return valid(memory == nullptr || DeviceHeap::get().free(memory)); }
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes) {
  if (!on_device(memory, bytes)) return cudaErrorInvalidValue;
  std::memset(memory, byte, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  if (on_device(from, bytes) != from_device || on_device(to, bytes) != to_device)
    return cudaErrorInvalidValue;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new RingcraftStream;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new RingcraftEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->recorded = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return valid(event != nullptr); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = std::chrono::duration<float, std::milli>(stop->recorded - start->recorded).count();
  return cudaSuccess;
}

namespace {

std::mutex limits_mutex;
std::map<const void*, std::size_t> limits;

}  // namespace

cudaError_t ringcraftSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  constexpr int kMost = 227 << 10;
  if (value < 0 || value > kMost) return cudaErrorInvalidValue;
  const std::lock_guard lock(limits_mutex);
  limits[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
std::size_t ringcraftSharedLimit(const void* kernel) {
  const std::lock_guard lock(limits_mutex);
  const auto found = limits.find(kernel);
  return found == limits.end() ? std::size_t{48} << 10 : found->second;
}
