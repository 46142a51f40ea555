// Accesses whose traffic can be worked out by hand.
#include "engine/launch.cuh"
#include "engine/ptx.cuh"
#include "traffic_kernels.hpp"

namespace ringcraft::kernels {
namespace {

__global__ void transpose_kernel(int stride, const float* from, float* to) {
  float* const tile_smem = dynamic_shared<float>();
  const int lane = int(threadIdx.x);
  for (int row = 0; row < 32; ++row) tile_smem[row * stride + lane] = from[row * 32 + lane];
  __syncwarp();
  for (int row = 0; row < 32; ++row) to[row * 32 + lane] = tile_smem[lane * stride + row];
}

__global__ void vector_kernel(int stride, const float* from, float* to) {
  float* const tile_smem = dynamic_shared<float>();
  const int lane = int(threadIdx.x);
  for (int i = 0; i < 4; ++i) tile_smem[lane * stride + i] = from[4 * lane + i];
  const float4 x = *reinterpret_cast<const float4*>(tile_smem + lane * stride);
  to[lane] = x.x;
}

__global__ void tile_kernel(int stride, float* to) {
  auto* const tile_smem = dynamic_shared<std::uint16_t>();
  const int lane = int(threadIdx.x);
  for (int row = 0; row < 16; ++row)
    if (lane < 16) tile_smem[row * stride + lane] = 0;
  __syncwarp();
  unsigned reg[4];
  ldmatrix_x4(reg, tile_smem + lane % 16 * stride + lane / 16 * 8);
  to[lane] = float(reg[0]);
}

__global__ void copy_kernel(int stride, const float* from, float* to) {
  float* const tile_smem = dynamic_shared<float>();
  const int lane = int(threadIdx.x);
  cp_async_16(tile_smem + lane * stride, from + 4 * lane, true);
  cp_async_commit();
  cp_async_wait<0>();
  to[lane] = tile_smem[lane * stride];
}

__global__ void gather_kernel(int stride, const float* from, float* to) {
  to[threadIdx.x] = from[int(threadIdx.x) * stride];
}

}  // namespace

void transpose(int stride, const float* from, float* to) {
  launch(transpose_kernel, 1, 32, 32 * unsigned(stride) * sizeof(float), nullptr, stride, from, to);
}
void read_vectors(int stride, const float* from, float* to) {
  launch(vector_kernel, 1, 32, 32 * unsigned(stride) * sizeof(float), nullptr, stride, from, to);
}
void load_tile(int stride, float* to) {
  launch(tile_kernel, 1, 32, 16 * unsigned(stride) * sizeof(std::uint16_t), nullptr, stride, to);
}
void copy_vectors(int stride, const float* from, float* to) {
  launch(copy_kernel, 1, 32, 32 * unsigned(stride) * sizeof(float), nullptr, stride, from, to);
}
void gather(int stride, const float* from, float* to) {
  launch(gather_kernel, 1, 32, 0, nullptr, stride, from, to);
}

}  // namespace ringcraft::kernels
