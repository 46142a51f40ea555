// Lesson 201, rung 01: attention as its formulas are written, three kernels with the score matrix S in global
// memory. float32, one thread for each number that a kernel writes.
//
// Division of work: a thread of `scores` computes one score, a thread of `softmax` turns one row of scores
// into weights, in place, and a thread of `values` computes one number of O. The launch is one step of a
// ring: it finds (O, m, l) in global memory and leaves them with this block's keys added. The mask is two
// integers per row (KeyRanges): what lies outside of them is neither written nor read.
//
// Weaknesses:
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
  // BEGIN SOLUTION 201 [scores]
  const Index i = thread_of_this_head();
  if (i >= Index{step.rows} * step.keys) return;
  const int a = int(i / step.keys), b = int(i % step.keys);
  if (b < step.begin_gmem[a] || b >= step.end_gmem[a]) return;

  const float* const q_gmem = rows_of_this_head(step) + Index{a} * step.head_dim;
  const float* const k_gmem = rows_for_this_head(step, step.k_gmem) + Index{b} * step.head_dim;
  float sum = 0;
  for (int d = 0; d < step.head_dim; ++d) sum = fmaf(q_gmem[d], k_gmem[d], sum);
  matrix.score_gmem[(this_head() * step.rows + a) * step.keys + b] = step.softmax_scale * sum;
  // END SOLUTION [scores]
}

// m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P. One thread per row.
__global__ void softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  // BEGIN SOLUTION 201 [softmax]
  const Index a = thread_of_this_head();
  if (a >= step.rows) return;
  const Index row = this_head() * step.rows + a;
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (begin >= end) return;  // such a row keeps its m and l, and `values` leaves its O alone
  float* const p_gmem = matrix.score_gmem + row * step.keys;

  const float old_max = step.max_gmem[row];
  float largest = old_max;
  for (int b = begin; b < end; ++b) largest = fmaxf(largest, p_gmem[b]);
  float sum = 0;
  for (int b = begin; b < end; ++b) {
    p_gmem[b] = expf(p_gmem[b] - largest);
    sum += p_gmem[b];
  }
  const float rescale = expf(old_max - largest);  // 0 if these are the row's first keys: exp(-inf)
  matrix.rescale_gmem[row] = rescale;
  step.max_gmem[row] = largest;
  step.sum_gmem[row] = rescale * step.sum_gmem[row] + sum;
  // END SOLUTION [softmax]
}

// O' = exp(m - m') O + P v. One thread per number of O.
__global__ void values_kernel(const ForwardStep step, ScoreMatrix matrix) {
  // BEGIN SOLUTION 201 [values]
  const Index i = thread_of_this_head();
  if (i >= Index{step.rows} * step.head_dim) return;
  const int a = int(i / step.head_dim), d = int(i % step.head_dim);
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (begin >= end) return;

  const Index row = this_head() * step.rows + a;
  const float* const p_gmem = matrix.score_gmem + row * step.keys;
  const float* const v_gmem = rows_for_this_head(step, step.v_gmem) + d;
  float sum = 0;
  for (int b = begin; b < end; ++b) sum = fmaf(p_gmem[b], v_gmem[Index{b} * step.head_dim], sum);
  float& out = step.out_gmem[row * step.head_dim + d];
  out = fmaf(matrix.rescale_gmem[row], out, sum);
  // END SOLUTION [values]
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
