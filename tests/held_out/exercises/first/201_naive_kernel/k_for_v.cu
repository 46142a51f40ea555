// Mistake: The third kernel multiplies the weights with the rows of k instead of those of v.
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
  const Index a = i / step.keys;
  const Index b = i % step.keys;
  if (b < step.begin_gmem[a]) return;
  if (b >= step.end_gmem[a]) return;
  const float* qa = rows_of_this_head(step) + a * step.head_dim;
  const float* kb = rows_for_this_head(step, step.k_gmem) + b * step.head_dim;
  float s = 0;
  for (int c = 0; c != step.head_dim; ++c) s = fmaf(*qa++, *kb++, s);
  matrix.score_gmem[(this_head() * step.rows + a) * step.keys + b] = s * step.softmax_scale;
}

// m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P. One thread per row.
__global__ void softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index a = thread_of_this_head();
  if (a >= step.rows) return;
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (end <= begin) return;
  const Index r = this_head() * step.rows + a;
  float* const scores = matrix.score_gmem + r * step.keys;
  const float before = step.max_gmem[r];
  float top = before;
  for (int b = begin; b < end; ++b) top = fmaxf(top, scores[b]);
  float total = 0;
  for (int b = begin; b < end; ++b) total += scores[b] = expf(scores[b] - top);
  const float factor = expf(before - top);
  matrix.rescale_gmem[r] = factor;
  step.sum_gmem[r] = step.sum_gmem[r] * factor + total;
  step.max_gmem[r] = top;
}

// O' = exp(m - m') O + P v. One thread per number of O.
__global__ void values_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index i = thread_of_this_head();
  if (i >= Index{step.rows} * step.head_dim) return;
  const Index a = i / step.head_dim;
  const Index c = i % step.head_dim;
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (end <= begin) return;
  const Index r = this_head() * step.rows + a;
  const float* const values = rows_for_this_head(step, step.k_gmem);
  float total = 0;
  for (int b = begin; b < end; ++b) total = fmaf(matrix.score_gmem[r * step.keys + b], values[b * step.head_dim + c], total);
  step.out_gmem[r * step.head_dim + c] = matrix.rescale_gmem[r] * step.out_gmem[r * step.head_dim + c] + total;
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
