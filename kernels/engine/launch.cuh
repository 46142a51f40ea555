#pragma once
/// @file
/// The launch of a kernel and its dynamic shared memory: the two things with a syntax that only nvcc reads.
/// With these wrappers the same source runs on a GPU and, through kernels/host, on the CPU.

#include <cstddef>
#include <string>

#include "engine/check.hpp"
#include "engine/launches.hpp"

namespace ringcraft::kernels {

#ifdef __CUDACC__

/// Enqueues a kernel with `shared_bytes` of dynamic shared memory. Throws Error if the launch fails.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
            const A&... arguments) {
  note_launch(reinterpret_cast<const void*>(kernel), shared_bytes);
  kernel<<<grid, block, shared_bytes, stream>>>(arguments...);
  RINGCRAFT_CUDA(cudaGetLastError());
}

/// Dynamic shared memory of a thread block, aligned to 16 bytes.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ float4 memory_smem[];
  return reinterpret_cast<T*>(memory_smem);
}

#else

/// The same on the CPU.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
            const A&... arguments) {
  note_launch(reinterpret_cast<const void*>(kernel), shared_bytes);
  const std::size_t limit = ringcraftSharedLimit(reinterpret_cast<const void*>(kernel));
  if (shared_bytes > limit)
    throw Error("launch", "at most " + std::to_string(limit) + " bytes of dynamic shared memory",
                std::to_string(shared_bytes), "ask for more with cudaFuncSetAttribute");
  ringcraftEnqueue(stream, [=] { simt::run({grid, block, shared_bytes}, [&] { kernel(arguments...); }); });
}

/// The same on the CPU.
template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(simt::shared_memory());
}

#endif

}  // namespace ringcraft::kernels
