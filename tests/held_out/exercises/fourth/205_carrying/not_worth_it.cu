// Mistake: merge_kernel leaves a row as it is when the block's maximum lies more than 10 below that of acc, as if the block's part (a weight below exp(-10)) were nothing, instead of adding its O and l with weight exp(block_max - max).
// Lesson 205: the merge of lesson 104 on a GPU: two partial results of attention become one. It does a few
// operations for each number that it moves, so nothing but the memory decides how long it takes: 3 numbers of
// O per number of the result, two read and one written.
//
// Who does what: 16 lanes, half a warp, share a row. Each of them computes the row's two weights for itself,
// which is cheaper than to hand them round, and takes every 16th group of four columns; one writes m and l.
//
// What is wrong with it: that it is there. The kernel which computed the block has just written what this one
// reads. A kernel that carries (O, m, l), as the rungs of forward/ do, moves half as much, and while others
// compute (8 bytes per number of O, against 4 for the block's result and 12 here).
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
  float* const mine_gmem = out_gmem + row * head_dim;
  const float* const other_gmem = block_out_gmem + row * head_dim;
  for (int column = 4 * lane(); column < head_dim; column += 4 * kLanes) {
    const float4 a = load4(mine_gmem, column, head_dim, access);
    const float4 b = load4(other_gmem, column, head_dim, access);
    store4(mine_gmem, column, head_dim, access, multiply_add(mine, a, scaled(other, b)));
  }
}

// acc becomes the partial of its own keys and the block's together: see merge() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  const bool exists = row < rows;
  float max = -INFINITY, sum = 0, block_max = -INFINITY, block_sum = 0;
  if (exists) {
    max = acc.max_gmem[row], sum = acc.sum_gmem[row];
    block_max = block.max_gmem[row], block_sum = block.sum_gmem[row];
  }
  __syncwarp();
  if (block_max == -INFINITY || max - block_max > 10.0f) return;

  const float top = fmaxf(max, block_max);
  const float mine = weight(max, top), other = weight(block_max, top);
  add_weighted(acc.out_gmem, block.out_gmem, mine, other, row, head_dim, access);
  if (lane() == 0) {
    acc.max_gmem[row] = top;
    acc.sum_gmem[row] = fmaf(mine, sum, other * block_sum);
  }
}

// The same for results that are divided already: see merge_normalized() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_normalized_kernel(float* out_gmem, float* lse_gmem, const float* block_out_gmem,
                            const float* block_lse_gmem, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  float lse = -INFINITY, block_lse = -INFINITY;
  if (row < rows) lse = lse_gmem[row], block_lse = block_lse_gmem[row];
  __syncwarp();
  if (block_lse == -INFINITY) return;

  const float top = fmaxf(lse, block_lse);
  const float mine = weight(lse, top), other = weight(block_lse, top), total = mine + other;
  add_weighted(out_gmem, block_out_gmem, mine / total, other / total, row, head_dim, access);
  if (lane() == 0) lse_gmem[row] = top + logf(total);
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
