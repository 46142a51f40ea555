// Waits for a row that another thread block merges: a launch that never ends.
// Fails: many-rows "did not come back"
// Earns: 3
#include <cmath>

#include "engine/launch.cuh"
#include "engine/vector4.cuh"
#include "merge/merge.hpp"

namespace ringcraft::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 16;

__device__ Index this_row() { return (Index{blockIdx.x} * kThreads + threadIdx.x) / kLanes; }
__device__ int lane() { return int(threadIdx.x) % kLanes; }

__device__ float weight(float max, float largest) {
  return max == -INFINITY ? 0.0f : expf(max - largest);
}

__device__ void add_weighted(float* out_gmem, const float* block_out_gmem, float mine, float other, Index row,
                             int head_dim, Access access) {
  float* const to_gmem = out_gmem + row * head_dim;
  const float* const from_gmem = block_out_gmem + row * head_dim;
  for (int d = 4 * lane(); d < head_dim; d += 4 * kLanes) {
    const float4 out = scaled(mine, load4(to_gmem, d, head_dim, access));
    store4(to_gmem, d, head_dim, access, multiply_add(other, load4(from_gmem, d, head_dim, access), out));
  }
}

__global__ void __launch_bounds__(kThreads)
    merge_kernel(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  const bool exists = row < rows;
  const float max = exists ? acc.max_gmem[row] : -INFINITY, sum = exists ? acc.sum_gmem[row] : 0;
  const float block_max = exists ? block.max_gmem[row] : -INFINITY;
  __syncwarp();
  if (exists && row == 16) {
    volatile float* const other_gmem = acc.sum_gmem;
    while (other_gmem[0] > 0) {
    }
  }
  if (block_max == -INFINITY) return;

  const float largest = fmaxf(max, block_max);
  const float mine = weight(max, largest), other = weight(block_max, largest);
  add_weighted(acc.out_gmem, block.out_gmem, mine, other, row, head_dim, access);
  if (lane() != 0) return;
  acc.max_gmem[row] = largest;
  acc.sum_gmem[row] = mine * sum + other * block.sum_gmem[row];
}

__global__ void __launch_bounds__(kThreads)
    merge_normalized_kernel(float* out_gmem, float* lse_gmem, const float* block_out_gmem,
                            const float* block_lse_gmem, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  const bool exists = row < rows;
  const float lse = exists ? lse_gmem[row] : -INFINITY;
  const float block_lse = exists ? block_lse_gmem[row] : -INFINITY;
  __syncwarp();
  if (block_lse == -INFINITY) return;

  const float largest = fmaxf(lse, block_lse);
  const float mine = weight(lse, largest), other = weight(block_lse, largest), norm = mine + other;
  add_weighted(out_gmem, block_out_gmem, mine / norm, other / norm, row, head_dim, access);
  if (lane() == 0) lse_gmem[row] = largest + logf(norm);
}

unsigned blocks_for(Index rows) { return static_cast<unsigned>((rows * kLanes + kThreads - 1) / kThreads); }

}

void merge(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, cudaStream_t stream) {
  if (rows == 0) return;
  const Access access = access_for(head_dim * sizeof(float), acc.out_gmem, block.out_gmem);
  launch(merge_kernel, blocks_for(rows), kThreads, 0, stream, acc, block, rows, head_dim, access);
}

void merge_normalized(float* out_gmem, float* lse_gmem, const float* block_out_gmem,
                      const float* block_lse_gmem, Index rows, int head_dim, cudaStream_t stream) {
  if (rows == 0) return;
  const Access access = access_for(head_dim * sizeof(float), out_gmem, block_out_gmem);
  launch(merge_normalized_kernel, blocks_for(rows), kThreads, 0, stream, out_gmem, lse_gmem, block_out_gmem,
         block_lse_gmem, rows, head_dim, access);
}

}
