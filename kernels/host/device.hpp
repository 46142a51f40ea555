#pragma once
/// @file
/// Replacements of CUDA's built-in names on the CPU, so that g++ compiles the same files as nvcc. It comes
/// before every line of such a file (-include). It has the names that the kernels of this tree use, and those
/// that students are used to; a name that is missing is a compile error, never something else.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "host/cuda_runtime_api.h"
#include "host/executor.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__ const  // with its values: no code copies others there
#define __forceinline__ inline
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

// A thread block stays on one thread of the operating system. The gap keeps what is declared next to each
// other apart, so that an access beside an array meets no other one; and an array is "used", or one that
// is never written would be a constant for the compiler, and its reads would be invisible.
#define __shared__                                                                       \
  __attribute__((used)) static thread_local ::std::byte RINGCRAFT_GAP(__COUNTER__)[512]; \
  __attribute__((used)) static thread_local
#define RINGCRAFT_GAP(number) RINGCRAFT_GAP_NAMED(number)
#define RINGCRAFT_GAP_NAMED(number) ringcraft_gap_##number

/// Four numbers that are loaded and stored at once.
struct alignas(16) float4 {
  float x, y, z, w;  ///< in the order of memory
};

#define threadIdx (::ringcraft::simt::this_thread().index)
#define blockIdx (::ringcraft::simt::this_thread().block)
#define blockDim (::ringcraft::simt::this_thread().block_extent)
#define gridDim (::ringcraft::simt::this_thread().grid_extent)

inline constexpr int warpSize = 32;
template <class T>
T __ldg(const T* address) {
  return *address;
}
#define __expf(x) expf(x)  // the C library declares these names for itself
#define __logf(x) logf(x)
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fdividef(float a, float b) { return a / b; }
inline int __popc(unsigned bits) { return std::popcount(bits); }

inline int min(int a, int b) { return std::min(a, b); }
inline int max(int a, int b) { return std::max(a, b); }

// The default arguments are evaluated where a kernel calls: they are that line.
inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  ringcraft::simt::sync_threads({file, line});
}

inline void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  ringcraft::simt::warp_operation(ringcraft::simt::WarpOperation::kSync, mask, 0, 0, {file, line});
}

inline unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  return static_cast<unsigned>(ringcraft::simt::warp_operation(ringcraft::simt::WarpOperation::kBallot, mask,
                                                               predicate != 0, 0, {file, line}));
}

inline int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}

inline int __all_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  return __ballot_sync(mask, !predicate, file, line) == 0;
}

namespace ringcraft::simt {

template <class T>
T shuffle(unsigned mask, T value, int source, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = warp_operation(WarpOperation::kShuffle, mask, bits, source, site);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace ringcraft::simt

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  const int lane = ringcraft::simt::this_lane();
  return ringcraft::simt::shuffle(mask, value, lane / width * width + source % width, {file, line});
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  const int lane = ringcraft::simt::this_lane(), source = lane ^ lanes;
  const bool inside = source < (lane / width + 1) * width;  // else a lane keeps its own
  return ringcraft::simt::shuffle(mask, value, inside ? source : lane, {file, line});
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = 32,
                   const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const int lane = ringcraft::simt::this_lane(), source = lane + static_cast<int>(lanes);
  const bool inside = source < (lane / width + 1) * width;
  return ringcraft::simt::shuffle(mask, value, inside ? source : lane, {file, line});
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = 32, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  const int lane = ringcraft::simt::this_lane(), source = lane - static_cast<int>(lanes);
  return ringcraft::simt::shuffle(mask, value, source >= lane / width * width ? source : lane, {file, line});
}

template <class T>
T atomicAdd(T* address, T value) {
  return ringcraft::simt::add_at_once(address, value);
}
