// Mistake: The new maximum is the largest score of this block alone instead of the larger one of it and the old m, so m may fall and the factor may exceed 1.
// Lesson 201, rung 01: attention as its formulas are written, three kernels with the score matrix S in global
// memory. float32, one thread for each number that a kernel writes.
//
// Who does what: a thread of `scores` computes one score, a thread of `softmax` turns one row of scores into
// weights, in place, and a thread of `values` computes one number of O. The launch is one step of a ring: it
// finds (O, m, l) in global memory and leaves them with this block's keys added. The mask is two integers per
// row (KeyRanges): what lies outside of them is neither written nor read.
//
// What is wrong with it:
//   The memory wall. S has heads * rows * keys numbers: 32 heads at 32768 tokens are 137 GB, beside 2 GB of
//   q, k, v and O of head_dim 128. It is written twice and read three times.
//   Uncoalesced reads. The lanes of a warp in `scores` read the same column of 32 neighbouring keys, which
//   lie head_dim numbers apart: 32 sectors of memory for 32 numbers. In `softmax` they walk down 32 rows.
//   No reuse. Every score fetches a row of q and a row of k anew: two loads for each multiply-add.
#include <cmath>

#include "engine/launch.cuh"
#include "forward/forward.hpp"
#include "forward/score_matrix.cuh"

namespace ringcraft::kernels {
namespace {

constexpr int kThreads = 256;

// Grid: (thread blocks for the numbers of one head, heads, batch).
__device__ Index thread_of_this_head() { return Index{blockIdx.x} * kThreads + threadIdx.x; }

// S = softmax_scale q kᵀ. One thread per score.
__global__ void scores_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index i = thread_of_this_head();
  if (i >= Index{step.rows} * step.keys) return;
  const int row = int(i / step.keys), key = int(i % step.keys);
  if (key < step.begin_gmem[row] || key >= step.end_gmem[row]) return;

  const float* const q = rows_of_this_head(step) + Index{row} * step.head_dim;
  const float* const k = rows_for_this_head(step, step.k_gmem) + Index{key} * step.head_dim;
  float dot = 0;
  for (int d = 0; d < step.head_dim; ++d) dot = fmaf(q[d], k[d], dot);
  matrix.score_gmem[(this_head() * step.rows + row) * step.keys + key] = step.softmax_scale * dot;
}

// m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P. One thread per row.
__global__ void softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index i = thread_of_this_head();
  if (i >= step.rows) return;
  const int begin = step.begin_gmem[i], end = step.end_gmem[i];
  if (begin >= end) return;

  const Index row = this_head() * step.rows + i;
  float* const s = matrix.score_gmem + row * step.keys;
  float largest = s[begin];
  for (int b = begin; b < end; ++b) largest = fmaxf(largest, s[b]);

  float sum = 0;
  for (int b = begin; b < end; ++b) {
    s[b] = expf(s[b] - largest);
    sum += s[b];
  }
  const float factor = expf(step.max_gmem[row] - largest);
  matrix.rescale_gmem[row] = factor;
  step.sum_gmem[row] = fmaf(factor, step.sum_gmem[row], sum);
  step.max_gmem[row] = largest;
}

// O' = exp(m - m') O + P v. One thread per number of O.
__global__ void values_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index i = thread_of_this_head();
  if (i >= Index{step.rows} * step.head_dim) return;
  const int a = int(i / step.head_dim), d = int(i % step.head_dim);
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (begin >= end) return;

  const Index row = this_head() * step.rows + a;
  const float* const p = matrix.score_gmem + row * step.keys;
  const float* const v = rows_for_this_head(step, step.v_gmem);
  float sum = 0;
  for (int b = begin; b < end; ++b) sum = fmaf(p[b], v[Index{b} * step.head_dim + d], sum);
  float& out = step.out_gmem[row * step.head_dim + d];
  out = fmaf(matrix.rescale_gmem[row], out, sum);
}

void enqueue(const ForwardStep& step, float* workspace_gmem, cudaStream_t stream) {
  const ScoreMatrix matrix = ScoreMatrix::in(workspace_gmem, step);
  const auto each = [&](void (*kernel)(const ForwardStep, ScoreMatrix), Index threads_of_head) {
    const dim3 grid(unsigned((threads_of_head + kThreads - 1) / kThreads), unsigned(step.heads),
                    unsigned(step.batch));
    launch(kernel, grid, kThreads, 0, stream, step, matrix);
  };
  each(scores_kernel, Index{step.rows} * step.keys);
  each(softmax_kernel, step.rows);
  each(values_kernel, Index{step.rows} * step.head_dim);
}

}  // namespace

const ForwardRung kNaive{1, "naive", DType::kFloat32, 128, ScoreMatrix::size, enqueue};

}  // namespace ringcraft::kernels
