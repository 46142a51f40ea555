#pragma once
/// @file
/// Four float32 at a time: 16 bytes are the widest load and store of a thread. Helpers of the rungs that have
/// nothing to do with attention.

#include <cstddef>
#include <cstdint>

namespace ringcraft::kernels {

/// How rows of global memory may be read.
enum class Access {
  kScalar,  ///< one number at a time: always right
  kVector,  ///< 16 bytes at a time: every row starts at a multiple of that
};

/// Columns [column, column + 4) of a row of `width` numbers; 0 beyond its end.
__device__ inline float4 load4(const float* row_gmem, int column, int width, Access access) {
  float4 x = {0, 0, 0, 0};
  if (access == Access::kVector) {
    if (column < width) x = *reinterpret_cast<const float4*>(row_gmem + column);
  } else {
    if (column + 0 < width) x.x = row_gmem[column + 0];
    if (column + 1 < width) x.y = row_gmem[column + 1];
    if (column + 2 < width) x.z = row_gmem[column + 2];
    if (column + 3 < width) x.w = row_gmem[column + 3];
  }
  return x;
}

/// The same the other way: writes what lies within the row.
__device__ inline void store4(float* row_gmem, int column, int width, Access access, float4 x) {
  if (access == Access::kVector) {
    if (column < width) *reinterpret_cast<float4*>(row_gmem + column) = x;
  } else {
    if (column + 0 < width) row_gmem[column + 0] = x.x;
    if (column + 1 < width) row_gmem[column + 1] = x.y;
    if (column + 2 < width) row_gmem[column + 2] = x.z;
    if (column + 3 < width) row_gmem[column + 3] = x.w;
  }
}

/// Four numbers of shared memory, at a multiple of 16 bytes.
__device__ inline float4 vector_at(const float* smem) { return *reinterpret_cast<const float4*>(smem); }

/// a . b + sum
__device__ inline float dot(float4 a, float4 b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

/// a b + sum
__device__ inline float4 multiply_add(float a, float4 b, float4 sum) {
  return {fmaf(a, b.x, sum.x), fmaf(a, b.y, sum.y), fmaf(a, b.z, sum.z), fmaf(a, b.w, sum.w)};
}

/// a b
__device__ inline float4 scaled(float a, float4 b) { return {a * b.x, a * b.y, a * b.z, a * b.w}; }

/// Whether global memory may be read 16 bytes at a time from this address on.
inline bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(float4) == 0;
}

/// How consecutive rows of `row_bytes` bytes that begin at each of these addresses may be read.
template <class... Pointers>
Access access_for(std::size_t row_bytes, const Pointers*... gmem) {
  return row_bytes % sizeof(float4) == 0 && (aligned(gmem) && ...) ? Access::kVector : Access::kScalar;
}

}  // namespace ringcraft::kernels
