// CUDA's runtime calls, implemented on the CPU.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "host/checker/checker.hpp"
#include "host/cuda_runtime_api.h"
#include "host/device_heap.hpp"
#include "host/streams.hpp"

namespace {

using ringcraft::simt::DeviceAccess;
using ringcraft::simt::DeviceHeap;
using ringcraft::simt::Streams;

thread_local std::string failed_work;  // the message of the work that failed with cudaErrorLaunchFailure

bool on_device(const void* memory, std::size_t bytes) { return DeviceHeap::get().holds(memory, bytes); }

// A kernel runs on the device, and these are calls of the host.
void require_host(const char* call) {
  if (ringcraft::simt::Checker::running != nullptr)
    throw ringcraft::Error(std::string("a kernel calls ") + call +
                           ", which only the host can: copy with loads and stores");
}

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
    case cudaErrorLaunchFailure:
      return failed_work.c_str();
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

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device) {
  *value = 0;
  return cudaSetDevice(device);
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  require_host("cudaMalloc");
  *memory = DeviceHeap::get().allocate(bytes);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* memory) {
  require_host("cudaFree");
  Streams::get().finish_all();
  return valid(memory == nullptr || DeviceHeap::get().free(memory));
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes) {
  require_host("cudaMemset");
  if (!on_device(memory, bytes)) return cudaErrorInvalidValue;
  const DeviceAccess access;
  std::memset(memory, byte, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  require_host("cudaMemcpyAsync");
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  if (on_device(from, bytes) != from_device || on_device(to, bytes) != to_device)
    return cudaErrorInvalidValue;
  Streams::get().enqueue(stream, [=] {
    const DeviceAccess access;
    std::memcpy(to, from, bytes);
  });
  return cudaSuccess;
}

void ringcraftEnqueue(cudaStream_t stream, std::function<void()> work) {
  require_host("<<< >>>");
  Streams::get().enqueue(stream, std::move(work));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = Streams::get().create();
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Streams::get().destroy(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  failed_work = Streams::get().finish(stream);
  return failed_work.empty() ? cudaSuccess : cudaErrorLaunchFailure;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned, const char* file,
                                int line) {
  if (event == nullptr) return cudaErrorInvalidValue;
  Streams::get().wait(stream, event, {file, line});
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new RingcraftEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Streams::get().record(event, stream);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Streams::get().is_reached(event) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event, const char* file, int line) {
  if (event == nullptr) return cudaErrorInvalidValue;
  Streams::get().finish(event, {file, line});
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = std::chrono::duration<float, std::milli>(stop->mark->when - start->mark->when).count();
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
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return cudaSuccess;
}
std::size_t ringcraftSharedLimit(const void* kernel) {
  const std::lock_guard lock(limits_mutex);
  const auto found = limits.find(kernel);
  return found == limits.end() ? ringcraft::simt::kUsualShared : found->second;
}
