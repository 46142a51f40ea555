// Mistake: merge leaves rows for which acc has seen no key as they are, instead of rows for which the block has seen none.
// Also: merge_normalized adds the logarithm to base 2 of the sum of weights to the larger lse instead of the natural one.
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

struct Two {
  float mine, other;
};

constexpr int kThreads = 256;
constexpr int kLanes = 16;  // of a row

__device__ Index this_row() { return (Index{blockIdx.x} * kThreads + threadIdx.x) / kLanes; }
__device__ int lane() { return int(threadIdx.x) % kLanes; }

// exp(m - largest), and 0 for a side that has seen no key: -inf - (-inf) would be NaN.
__device__ float weight(float max, float largest) {
  return max > -INFINITY ? expf(max - largest) : 0.0f;
}

// This row of O becomes mine * O + other * (the block's O). A side without a key has weight 0: whatever
// stands in its O is finite.
__device__ void add_weighted(float* out_gmem, const float* block_out_gmem, float mine, float other, Index row,
                             int head_dim, Access access) {
  out_gmem += row * head_dim;
  block_out_gmem += row * head_dim;
  for (int d = lane() * 4; d < head_dim; d += 4 * kLanes)
    store4(out_gmem, d, head_dim, access,
           multiply_add(mine, load4(out_gmem, d, head_dim, access),
                        scaled(other, load4(block_out_gmem, d, head_dim, access))));
}

// acc becomes the partial of its own keys and the block's together: see merge() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  const bool exists = row < rows;
  const Two m{exists ? acc.max_gmem[row] : -INFINITY, exists ? block.max_gmem[row] : -INFINITY};
  const Two l{exists ? acc.sum_gmem[row] : 0, exists ? block.sum_gmem[row] : 0};
  __syncwarp();
  if (m.mine == -INFINITY) return;
  const float top = fmaxf(m.mine, m.other);
  const Two w{weight(m.mine, top), weight(m.other, top)};
  add_weighted(acc.out_gmem, block.out_gmem, w.mine, w.other, row, head_dim, access);
  if (lane() > 0) return;
  acc.max_gmem[row] = top;
  acc.sum_gmem[row] = w.mine * l.mine + w.other * l.other;
}

// The same for results that are divided already: see merge_normalized() in merge.hpp.
__global__ void __launch_bounds__(kThreads)
    merge_normalized_kernel(float* out_gmem, float* lse_gmem, const float* block_out_gmem,
                            const float* block_lse_gmem, Index rows, int head_dim, Access access) {
  const Index row = this_row();
  const bool exists = row < rows;
  const Two lse{exists ? lse_gmem[row] : -INFINITY, exists ? block_lse_gmem[row] : -INFINITY};
  __syncwarp();
  if (lse.other == -INFINITY) return;
  const float top = fmaxf(lse.mine, lse.other);
  const Two w{weight(lse.mine, top), weight(lse.other, top)};
  const float norm = w.mine + w.other;
  add_weighted(out_gmem, block_out_gmem, w.mine / norm, w.other / norm, row, head_dim, access);
  if (lane() > 0) return;
  lse_gmem[row] = top + log2f(norm);
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
