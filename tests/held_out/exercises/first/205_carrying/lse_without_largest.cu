// Mistake: merge_normalized stores the logarithm of the sum of both weights as lse, without the larger lse that it must be added to.
#include <cmath>

#include "engine/launch.cuh"
#include "engine/vector4.cuh"
#include "merge/merge.hpp"

namespace ringcraft::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 16;  // of a row

__device__ Index this_row() { return (Index{blockIdx.x} * kThreads + threadIdx.x) / kLanes; }
__device__ int lane() { return int(threadIdx.x) % kLanes; }

// exp(m - largest), and 0 for a side that has seen no key: -inf - (-inf) would be NaN.
__device__ float weight(float max, float largest) {
  if (max == -INFINITY) return 0.0f;
  return expf(max - largest);
}

// This row of O becomes mine * O + other * (the block's O). A side without a key has weight 0: whatever
// stands in its O is finite.
__device__ void add_weighted(float* out_gmem, const float* block_out_gmem, float mine, float other, Index row,
                             int head_dim, Access access) {
  const Index first = row * head_dim;
  for (int column = lane() * 4; column < head_dim; column += kLanes * 4) {
    float4 o = load4(out_gmem + first, column, head_dim, access);
    o = scaled(mine, o);
    o = multiply_add(other, load4(block_out_gmem + first, column, head_dim, access), o);
    store4(out_gmem + first, column, head_dim, access, o);
  }
}

// acc becomes the partial of its own keys and the block's together: see merge() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  float ma = -INFINITY, la = 0, mb = -INFINITY, lb = 0;
  if (row < rows) {
    ma = acc.max_gmem[row];
    la = acc.sum_gmem[row];
    mb = block.max_gmem[row];
    lb = block.sum_gmem[row];
  }
  __syncwarp();
  if (mb > -INFINITY) {
    const float m = fmaxf(ma, mb);
    const float wa = weight(ma, m), wb = weight(mb, m);
    add_weighted(acc.out_gmem, block.out_gmem, wa, wb, row, head_dim, access);
    if (lane() == 0) {
      acc.max_gmem[row] = m;
      acc.sum_gmem[row] = wa * la + wb * lb;
    }
  }
}

// The same for results that are divided already: see merge_normalized() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_normalized_kernel(float* out_gmem, float* lse_gmem, const float* block_out_gmem,
                            const float* block_lse_gmem, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  float a = -INFINITY, b = -INFINITY;
  if (row < rows) {
    a = lse_gmem[row];
    b = block_lse_gmem[row];
  }
  __syncwarp();
  if (b > -INFINITY) {
    const float top = fmaxf(a, b);
    float wa = weight(a, top), wb = weight(b, top);
    const float sum = wa + wb;
    wa /= sum;
    wb /= sum;
    add_weighted(out_gmem, block_out_gmem, wa, wb, row, head_dim, access);
    if (lane() == 0) lse_gmem[row] = logf(sum);
  }
}

unsigned blocks_for(Index rows) { return static_cast<unsigned>((rows * kLanes + kThreads - 1) / kThreads); }

}  // namespace

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

}  // namespace ringcraft::kernels
