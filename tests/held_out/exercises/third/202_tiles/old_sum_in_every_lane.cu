// Mistake: in softmax_kernel every lane begins its share of the sum with the rescaled old l before the sum over the warp, so the old l is counted 32 times: l' = 32 exp(m - m') l + sum P.
// Lesson 202, rung 02: the three kernels of rung 01 with tiles in shared memory. What a thread block needs of
// its operands is fetched once, by neighbouring lanes at neighbouring addresses, and used 32 times. float32;
// the score matrix S is still in global memory.
//
// Who does what: a thread block of `scores` and of `values` computes a tile of 32 x 32 numbers, of which a
// thread has four, one below the other; it walks over head_dim, or over the keys, 32 at a time. A row of
// `softmax` belongs to a warp, whose lanes read it side by side. The launch is one step of a ring, as in rung
// 01, and it skips tiles that hold no visible pair.
//
// What is wrong with it:
//   The memory wall stands: S goes to global memory and comes back, and its size grows with rows * keys.
//   A thread loads five numbers from shared memory for four multiply-adds: loads decide, not arithmetic.
#include <cmath>

#include "engine/launch.cuh"
#include "forward/forward.hpp"
#include "forward/score_matrix.cuh"

namespace ringcraft::kernels {
namespace {

constexpr int kTile = 32;  // rows, keys and columns of a tile; the lanes of a warp
constexpr int kWarps = 8;  // of a thread block
constexpr int kThreads = kTile * kWarps;
constexpr int kThreadRows = kTile / kWarps;
constexpr int kStride = kTile + 1;  // of a row in shared memory: a column then lies in 32 different banks
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ int lane() { return int(threadIdx.x); }
__device__ int warp() { return int(threadIdx.y); }

// The tile that begins at (row0, column0) of a matrix of `rows` x `columns` in global memory, with zeros
// behind its borders: a zero adds nothing to a product.
__device__ void load_tile(float* smem, const float* gmem, int row0, int column0, int rows, int columns) {
  const int column = column0 + lane();
  for (int i = 0; i < kThreadRows; ++i) {
    const int row = warp() + i * kWarps;
    float x = 0.0f;
    if (column < columns && row0 + row < rows) x = gmem[Index{row0 + row} * columns + column];
    smem[row * kStride + lane()] = x;
  }
}

// S = softmax_scale q kᵀ. One thread block per tile of S.
__global__ void __launch_bounds__(kThreads) scores_kernel(const ForwardStep step, ScoreMatrix matrix) {
  __shared__ float query_smem[kTile * kStride];
  __shared__ float key_smem[kTile * kStride];
  const int across = (step.keys + kTile - 1) / kTile;
  const int row0 = int(blockIdx.x) / across * kTile;
  const int key0 = int(blockIdx.x) % across * kTile;
  const int row1 = min(row0 + kTile, step.rows);
  if (key0 >= step.end_gmem[row1 - 1] || step.begin_gmem[row0] >= key0 + kTile) return;

  float dot_reg[kThreadRows] = {};
  for (int column0 = 0; column0 < step.head_dim; column0 += kTile) {
    load_tile(query_smem, rows_of_this_head(step), row0, column0, step.rows, step.head_dim);
    load_tile(key_smem, rows_for_this_head(step, step.k_gmem), key0, column0, step.keys, step.head_dim);
    __syncthreads();
    for (int d = 0; d < kTile; ++d) {
      const float k = key_smem[lane() * kStride + d];
      for (int i = 0; i < kThreadRows; ++i)
        dot_reg[i] = fmaf(query_smem[(warp() + kWarps * i) * kStride + d], k, dot_reg[i]);
    }
    __syncthreads();
  }
  const int b = key0 + lane();
  for (int i = 0; i < kThreadRows; ++i) {
    const int a = row0 + warp() + kWarps * i;
    if (a < row1 && step.begin_gmem[a] <= b && b < step.end_gmem[a])
      matrix.score_gmem[(this_head() * step.rows + a) * step.keys + b] = dot_reg[i] * step.softmax_scale;
  }
}

__device__ float warp_max(float x) {
  for (int other = kTile / 2; other > 0; other /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, other));
  return x;
}

__device__ float warp_sum(float x) {
  for (int other = kTile / 2; other > 0; other /= 2) x += __shfl_xor_sync(kAllLanes, x, other);
  return x;
}

// m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P. One warp per row.
__global__ void __launch_bounds__(kThreads) softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const int a = int(blockIdx.x) * kWarps + warp();
  if (a >= step.rows) return;
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (begin >= end) return;
  const Index row = this_head() * step.rows + a;
  float* const p_gmem = matrix.score_gmem + row * step.keys;

  const float old_max = step.max_gmem[row];
  float new_max = old_max;
  for (int b = begin + lane(); b < end; b += kTile) new_max = fmaxf(new_max, p_gmem[b]);
  new_max = warp_max(new_max);
  const float rescale = expf(old_max - new_max);

  float sum = rescale * step.sum_gmem[row];
  for (int b = begin + lane(); b < end; b += kTile) {
    const float p = expf(p_gmem[b] - new_max);
    p_gmem[b] = p;
    sum += p;
  }
  sum = warp_sum(sum);
  __syncwarp();
  if (lane() == 0) {
    step.max_gmem[row] = new_max;
    step.sum_gmem[row] = sum;
    matrix.rescale_gmem[row] = rescale;
  }
}

// A tile of P, with weight 0 where a row does not see a key: S was not written there.
__device__ void load_weights(float* p_smem, const float* p_gmem, const ForwardStep& step, int row0,
                             int key0) {
  const int b = key0 + lane();
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    const int row = warp() + i * kWarps, a = row0 + row;
    const bool visible = a < step.rows && step.begin_gmem[a] <= b && b < step.end_gmem[a];
    p_smem[row * kStride + lane()] = visible ? p_gmem[Index{a} * step.keys + b] : 0.0f;
  }
}

// O' = exp(m - m') O + P v. One thread block per tile of O.
__global__ void __launch_bounds__(kThreads) values_kernel(const ForwardStep step, ScoreMatrix matrix) {
  __shared__ float p_smem[kTile * kStride];
  __shared__ float v_smem[kTile * kStride];
  const int tiles_of_columns = (step.head_dim + kTile - 1) / kTile;
  const int row0 = int(blockIdx.x) / tiles_of_columns * kTile;
  const int d0 = int(blockIdx.x) % tiles_of_columns * kTile;
  const int last_row = min(row0 + kTile, step.rows) - 1, last_key = step.end_gmem[last_row];

  const float* const p_gmem = matrix.score_gmem + this_head() * step.rows * step.keys;
  const float* const v_gmem = rows_for_this_head(step, step.v_gmem);
  float sum_reg[kThreadRows] = {};
  for (int key0 = step.begin_gmem[row0] / kTile * kTile; key0 < last_key; key0 += kTile) {
    __syncthreads();  // all have used the tiles before
    load_weights(p_smem, p_gmem, step, row0, key0);
    load_tile(v_smem, v_gmem, key0, d0, step.keys, step.head_dim);
    __syncthreads();  // all have written theirs
#pragma unroll 8
    for (int b = 0; b < kTile; ++b) {
      const float v = v_smem[b * kStride + lane()];
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i)
        sum_reg[i] = fmaf(p_smem[(warp() + i * kWarps) * kStride + b], v, sum_reg[i]);
    }
  }
  const int d = d0 + lane();
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    const int a = row0 + warp() + i * kWarps;
    if (a >= step.rows || d >= step.head_dim || step.begin_gmem[a] >= step.end_gmem[a]) continue;
    const Index row = this_head() * step.rows + a;
    float& out = step.out_gmem[row * step.head_dim + d];
    out = fmaf(matrix.rescale_gmem[row], out, sum_reg[i]);
  }
}

void enqueue(const ForwardStep& step, float* workspace_gmem, cudaStream_t stream) {
  const ScoreMatrix matrix = ScoreMatrix::in(workspace_gmem, step);
  const auto tiles = [](int extent, int tile) {
    return (unsigned(extent) + unsigned(tile) - 1) / unsigned(tile);
  };
  const auto each = [&](void (*kernel)(const ForwardStep, ScoreMatrix), unsigned tiles_of_head) {
    const dim3 grid(tiles_of_head, unsigned(step.heads), unsigned(step.batch));
    launch(kernel, grid, dim3(kTile, kWarps), 0, stream, step, matrix);
  };
  each(scores_kernel, tiles(step.rows, kTile) * tiles(step.keys, kTile));
  each(softmax_kernel, tiles(step.rows, kWarps));
  each(values_kernel, tiles(step.rows, kTile) * tiles(step.head_dim, kTile));
}

}  // namespace

const ForwardRung kTiles{2, "tiles", DType::kFloat32, 128, ScoreMatrix::size, enqueue};

}  // namespace ringcraft::kernels
