// Mistake: In merge_normalized the shares of both sides are exchanged: the block's out is weighted with 1 / (1 + exp(block_lse - lse)) and out with the rest, instead of with 1 / (1 + exp(lse - block_lse)) and the rest, so the side with the smaller lse weighs more; lse is right, and so is merge.
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
  const bool seen = max > -INFINITY;
  return seen ? expf(max - largest) : 0.0f;
}

// This row of O becomes mine * O + other * (the block's O). A side without a key has weight 0: whatever
// stands in its O is finite.
__device__ void add_weighted(float* out_gmem, const float* block_out_gmem, float mine, float other, Index row,
                             int head_dim, Access access) {
  float* const to_gmem = out_gmem + row * head_dim;
  const float* const from_gmem = block_out_gmem + row * head_dim;
  for (int d = 4 * lane(); d < head_dim; d += 4 * kLanes) {
    const float4 a = load4(to_gmem, d, head_dim, access);
    const float4 b = load4(from_gmem, d, head_dim, access);
    store4(to_gmem, d, head_dim, access, multiply_add(mine, a, scaled(other, b)));
  }
}

// acc becomes the partial of its own keys and the block's together: see merge() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  const bool absent = row >= rows;
  const float old_max = absent ? -INFINITY : acc.max_gmem[row];
  const float old_sum = absent ? 0.0f : acc.sum_gmem[row];
  const float new_max = absent ? -INFINITY : block.max_gmem[row];
  __syncwarp();
  if (new_max == -INFINITY) return;
  const float m = fmaxf(old_max, new_max), keep = weight(old_max, m), take = weight(new_max, m);
  add_weighted(acc.out_gmem, block.out_gmem, keep, take, row, head_dim, access);
  if (lane() > 0) return;
  acc.sum_gmem[row] = keep * old_sum + take * block.sum_gmem[row];
  acc.max_gmem[row] = m;
}

// The same for results that are divided already: see merge_normalized() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_normalized_kernel(float* out_gmem, float* lse_gmem, const float* block_out_gmem,
                            const float* block_lse_gmem, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  const bool absent = row >= rows;
  const float lse = absent ? -INFINITY : lse_gmem[row];
  const float block_lse = absent ? -INFINITY : block_lse_gmem[row];
  __syncwarp();
  if (block_lse == -INFINITY) return;
  const float gap = block_lse - lse;
  const float share = 1.0f / (1.0f + expf(gap));
  add_weighted(out_gmem, block_out_gmem, 1.0f - share, share, row, head_dim, access);
  if (lane() == 0) lse_gmem[row] = fmaxf(lse, block_lse) + log1pf(expf(-fabsf(gap)));
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
