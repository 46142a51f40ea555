// Mistake: In load_tile columns behind the border of the matrix are filled with the last existing column of their row instead of with 0, so that scores add the product of the last column of q and k once more for each column that is missing from head_dim up to a multiple of 32.
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
  const int column = min(column0 + lane(), columns - 1);
  for (int row = warp(); row < kTile; row += kWarps) {
    float x = 0.0f;
    if (row0 + row < rows) x = gmem[Index{row0 + row} * columns + column];
    smem[row * kStride + lane()] = x;
  }
}

// S = softmax_scale q kᵀ. One thread block per tile of S.
__global__ void __launch_bounds__(kThreads) scores_kernel(const ForwardStep step, ScoreMatrix matrix) {
  __shared__ float q_smem[kTile * kStride];
  __shared__ float k_smem[kTile * kStride];
  const int across = (step.keys + kTile - 1) / kTile, place = int(blockIdx.x);
  const int first_row = kTile * (place / across), first_key = kTile * (place % across);
  const int last_row = min(first_row + kTile - 1, step.rows - 1);
  const bool nothing =
      step.begin_gmem[first_row] >= first_key + kTile || step.end_gmem[last_row] <= first_key;
  if (nothing) return;

  const float* const q_gmem = rows_of_this_head(step);
  const float* const k_gmem = rows_for_this_head(step, step.k_gmem);
  float dot_reg[kThreadRows] = {};
  for (int column = 0; column < step.head_dim; column += kTile) {
    load_tile(q_smem, q_gmem, first_row, column, step.rows, step.head_dim);
    load_tile(k_smem, k_gmem, first_key, column, step.keys, step.head_dim);
    __syncthreads();
    const float* const k_row = k_smem + lane() * kStride;
    for (int d = 0; d < kTile; ++d) {
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        const float* const q_row = q_smem + (warp() + r * kWarps) * kStride;
        dot_reg[r] = fmaf(q_row[d], k_row[d], dot_reg[r]);
      }
    }
    __syncthreads();
  }

  const int key = first_key + lane();
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
    const int row = first_row + warp() + r * kWarps;
    if (row < step.rows && step.begin_gmem[row] <= key && key < step.end_gmem[row])
      matrix.score_gmem[(this_head() * step.rows + row) * step.keys + key] = step.softmax_scale * dot_reg[r];
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
  const int a = kWarps * int(blockIdx.x) + warp();
  if (a >= step.rows) return;
  const int first = step.begin_gmem[a], last = step.end_gmem[a];
  if (first >= last) return;
  const Index row = this_head() * step.rows + a;
  float* const s_gmem = matrix.score_gmem + row * step.keys;
  const float m = step.max_gmem[row], l = step.sum_gmem[row];

  float top = -INFINITY;
  for (int b = first + lane(); b < last; b += kTile) top = fmaxf(top, s_gmem[b]);
  const float new_m = fmaxf(m, warp_max(top));
  const float factor = m == -INFINITY ? 0.0f : expf(m - new_m);
  float part = lane() == 0 ? factor * l : 0.0f;
  for (int b = first + lane(); b < last; b += kTile) {
    const float p = expf(s_gmem[b] - new_m);
    s_gmem[b] = p;
    part += p;
  }
  const float new_l = warp_sum(part);
  __syncwarp();
  if (lane() == 0) {
    step.max_gmem[row] = new_m;
    step.sum_gmem[row] = new_l;
    matrix.rescale_gmem[row] = factor;
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
