// Lesson 205: the merge of lesson 104 on a GPU: two partial results of attention become one. It does a few
// operations for each number that it moves, so nothing but the memory decides how long it takes: 3 numbers of
// O per number of the result, two read and one written.
//
// Division of work: 16 lanes, half a warp, share a row. Each of them computes the row's two weights for
// itself, which is cheaper than handing them round, and takes every 16th group of four columns; one writes m
// and l.
//
// Weakness: that it exists at all. The kernel which computed the block has just written what this one reads.
// A kernel that carries (O, m, l), as the rungs of forward/ do, moves half as much, and while others compute
// (8 bytes per number of O, against 4 for the block's result and 12 here).
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
  // BEGIN SOLUTION 205 [weight]
  return max == -INFINITY ? 0.0f : expf(max - largest);
  // END SOLUTION [weight]
}

// This row of O becomes mine * O + other * (the block's O). A side without a key has weight 0: whatever
// stands in its O is finite.
__device__ void add_weighted(float* out_gmem, const float* block_out_gmem, float mine, float other, Index row,
                             int head_dim, Access access) {
  // BEGIN SOLUTION 205 [add_weighted]
  float* const to_gmem = out_gmem + row * head_dim;
  const float* const from_gmem = block_out_gmem + row * head_dim;
  for (int d = 4 * lane(); d < head_dim; d += 4 * kLanes) {
    const float4 out = scaled(mine, load4(to_gmem, d, head_dim, access));
    store4(to_gmem, d, head_dim, access, multiply_add(other, load4(from_gmem, d, head_dim, access), out));
  }
  // END SOLUTION [add_weighted]
}

// acc becomes the partial of its own keys and the block's together: see merge() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, Access access) {
  // BEGIN SOLUTION 205 [merge]
  // A warp waits with all its lanes, also where its second row is not there.
  const Index row = this_row();
  const bool exists = row < rows;
  const float max = exists ? acc.max_gmem[row] : -INFINITY, sum = exists ? acc.sum_gmem[row] : 0;
  const float block_max = exists ? block.max_gmem[row] : -INFINITY;
  __syncwarp();                        // m and l are written below, by one lane, when all have read them
  if (block_max == -INFINITY) return;  // no row, or the block has seen no key: the row keeps its bits

  const float largest = fmaxf(max, block_max);
  const float mine = weight(max, largest), other = weight(block_max, largest);
  add_weighted(acc.out_gmem, block.out_gmem, mine, other, row, head_dim, access);
  if (lane() != 0) return;
  acc.max_gmem[row] = largest;
  acc.sum_gmem[row] = mine * sum + other * block.sum_gmem[row];
  // END SOLUTION [merge]
}

// The same for results that are divided already: see merge_normalized() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_normalized_kernel(float* out_gmem, float* lse_gmem, const float* block_out_gmem,
                            const float* block_lse_gmem, Index rows, int head_dim, Access access) {
  // BEGIN SOLUTION 205 [merge_normalized]
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
  // END SOLUTION [merge_normalized]
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
