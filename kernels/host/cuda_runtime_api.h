#pragma once
/// @file
/// The CUDA runtime calls that the engine makes, for the build that runs kernels on the CPU: this folder
/// comes first on its include path, and nothing of CUDA's own is needed. Names, arguments and errors are
/// CUDA's. streams.hpp describes when a stream does its work.

#include <cstddef>
#include <functional>

#include "host/executor.hpp"

// Code compiled for the CPU has its own namespace, apart from the code that nvcc compiles for a GPU (one
// program may hold both): from here on ringcraft::kernels is this one.
namespace ringcraft::inline on_cpu::kernels {}

using dim3 = ringcraft::simt::Triple;  ///< extents of a launch

/// The result of a call.
enum cudaError_t {
  cudaSuccess,
  cudaErrorInvalidValue,
  cudaErrorMemoryAllocation,
  cudaErrorInvalidDevice,
  cudaErrorNoDevice,
  cudaErrorStubLibrary,
  cudaErrorSystemNotReady,
  cudaErrorSystemDriverMismatch,
  cudaErrorInsufficientDriver,
  cudaErrorDevicesUnavailable,
  cudaErrorNoKernelImageForDevice,
  cudaErrorLaunchFailure,
  cudaErrorNotReady,
};
/// In words; those of the work itself where that has failed.
const char* cudaGetErrorString(cudaError_t error);
/// Always cudaSuccess: a launch that fails throws.
cudaError_t cudaGetLastError();

// ---- devices: one, the CPU

/// Properties of a device that the engine reads.
struct cudaDeviceProp {
  char name[256];              ///< "CPU (host executor)"
  int major, minor;            ///< 8.0: what the kernels may use
  std::size_t totalGlobalMem;  ///< bytes
};
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
/// Numbers of a device. A processor has none of them: each is 0.
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrClockRate, cudaDevAttrL2CacheSize };
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);

// ---- memory: device memory lies apart from the host's only by name; copies and freeing are checked

/// From where to where.
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice
};
using cudaStream_t = struct RingcraftStream*;  ///< the default one is null
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);

// ---- streams and events

inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
/// Enqueues work of the host executor: what a launch does on a GPU.
void ringcraftEnqueue(cudaStream_t stream, std::function<void()> work);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
using cudaEvent_t = struct RingcraftEvent*;  ///< remembers when it was recorded
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
// The default arguments are evaluated where the call stands: they are that line.
cudaError_t cudaEventSynchronize(cudaEvent_t event, const char* file = __builtin_FILE(),
                                 int line = __builtin_LINE());
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0,
                                const char* file = __builtin_FILE(), int line = __builtin_LINE());
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);

// ---- kernels

/// Attributes that can be set for a kernel.
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
/// More than 48 KB of dynamic shared memory must be asked for. `kernel` is any kernel's address.
cudaError_t ringcraftSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
/// Resources of a kernel, as far as the engine reads them. On a processor it needs none of it.
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, localSizeBytes;
  int numRegs;
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
/// The dynamic shared memory that this kernel may have, in bytes.
std::size_t ringcraftSharedLimit(const void* kernel);
/// The same, for a kernel of any type.
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
  return ringcraftSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
