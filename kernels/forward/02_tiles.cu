// Lesson 202, rung 02: the three kernels of rung 01 with tiles in shared memory. A thread block fetches each
// number of its operands once, by neighbouring lanes at neighbouring addresses, and uses it 32 times.
// float32; the score matrix S is still in global memory.
//
// Division of work: a thread block of `scores` and of `values` computes a tile of 32 x 32 numbers, of which a
// thread has four, one below the other; it walks over head_dim, or over the keys, 32 at a time. A row of
// `softmax` belongs to a warp, whose lanes read it side by side. The launch is one step of a ring, as in rung
// 01, and it skips tiles that hold no visible pair.
//
// Weaknesses:
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

// The tile that begins at (row0, column0) of a matrix of `rows` x `columns` in global memory, with zeros past
// its borders: a zero adds nothing to a product.
__device__ void load_tile(float* smem, const float* gmem, int row0, int column0, int rows, int columns) {
  // BEGIN SOLUTION 202 [load_tile]
#pragma unroll
  for (int row = warp(); row < kTile; row += kWarps) {
    const bool inside = row0 + row < rows && column0 + lane() < columns;
    smem[row * kStride + lane()] = inside ? gmem[Index{row0 + row} * columns + column0 + lane()] : 0.0f;
  }
  // END SOLUTION [load_tile]
}

// S = softmax_scale q kᵀ. One thread block per tile of S.
__global__ void __launch_bounds__(kThreads) scores_kernel(const ForwardStep step, ScoreMatrix matrix) {
  // BEGIN SOLUTION 202 [scores]
  __shared__ float q_smem[kTile * kStride];
  __shared__ float k_smem[kTile * kStride];
  const int tiles_of_keys = (step.keys + kTile - 1) / kTile;
  const int row0 = int(blockIdx.x) / tiles_of_keys * kTile, key0 = int(blockIdx.x) % tiles_of_keys * kTile;
  // begin and end never decrease: the first and the last row decide for the whole tile.
  const int last_row = min(row0 + kTile, step.rows) - 1;
  if (step.end_gmem[last_row] <= key0 || key0 + kTile <= step.begin_gmem[row0]) return;

  const float* const q_gmem = rows_of_this_head(step);
  const float* const k_gmem = rows_for_this_head(step, step.k_gmem);
  float sum_reg[kThreadRows] = {};
  for (int d0 = 0; d0 < step.head_dim; d0 += kTile) {
    __syncthreads();  // all have used the tiles before
    load_tile(q_smem, q_gmem, row0, d0, step.rows, step.head_dim);
    load_tile(k_smem, k_gmem, key0, d0, step.keys, step.head_dim);
    __syncthreads();  // all have written theirs
#pragma unroll 8
    for (int d = 0; d < kTile; ++d) {
      const float k = k_smem[lane() * kStride + d];
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i)
        sum_reg[i] = fmaf(q_smem[(warp() + i * kWarps) * kStride + d], k, sum_reg[i]);
    }
  }
  const int b = key0 + lane();
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    const int a = row0 + warp() + i * kWarps;
    if (a >= step.rows || b < step.begin_gmem[a] || b >= step.end_gmem[a]) continue;
    matrix.score_gmem[(this_head() * step.rows + a) * step.keys + b] = step.softmax_scale * sum_reg[i];
  }
  // END SOLUTION [scores]
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
  // BEGIN SOLUTION 202 [softmax]
  const int a = int(blockIdx.x) * kWarps + warp();
  if (a >= step.rows) return;  // the whole warp
  const Index row = this_head() * step.rows + a;
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (begin >= end) return;  // such a row keeps its m and l, and `values` leaves its O alone
  float* const p_gmem = matrix.score_gmem + row * step.keys;

  const float old_max = step.max_gmem[row], old_sum = step.sum_gmem[row];
  float largest = old_max;
  for (int b = begin + lane(); b < end; b += kTile) largest = fmaxf(largest, p_gmem[b]);
  largest = warp_max(largest);
  float sum = 0;
  for (int b = begin + lane(); b < end; b += kTile) {
    p_gmem[b] = expf(p_gmem[b] - largest);
    sum += p_gmem[b];
  }
  sum = warp_sum(sum);
  __syncwarp();  // m and l are written below, by one lane, when all have read them; a shuffle orders no
                 // memory
  if (lane() != 0) return;
  const float rescale = expf(old_max - largest);  // 0 if these are the row's first keys: exp(-inf)
  matrix.rescale_gmem[row] = rescale;
  step.max_gmem[row] = largest;
  step.sum_gmem[row] = rescale * old_sum + sum;
  // END SOLUTION [softmax]
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
