// Mistake: The second kernel writes each weight as exp(S - m) with the running maximum m at that moment of a single pass instead of with the row's final maximum, and never corrects the weights already written; m, l and the factor are right.
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
  const Index n = thread_of_this_head(), keys = step.keys;
  if (n >= keys * step.rows) return;
  const Index row = n / keys, key = n - row * keys;
  const bool visible = step.begin_gmem[row] <= key && key < step.end_gmem[row];
  if (!visible) return;
  const float* q_gmem = rows_of_this_head(step) + row * step.head_dim;
  const float* k_gmem = rows_for_this_head(step, step.k_gmem) + key * step.head_dim;
  float sum = 0.0f;
  for (int c = step.head_dim; c > 0; --c, ++q_gmem, ++k_gmem) sum = fmaf(*q_gmem, *k_gmem, sum);
  matrix.score_gmem[this_head() * step.rows * keys + n] = sum * step.softmax_scale;
}

// m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P. One thread per row.
__global__ void softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index a = thread_of_this_head();
  if (a >= step.rows || step.begin_gmem[a] >= step.end_gmem[a]) return;
  const Index row = this_head() * step.rows + a;
  float* const row_gmem = matrix.score_gmem + row * step.keys;

  const float carried_max = step.max_gmem[row];
  float max = carried_max, sum = step.sum_gmem[row];
  for (int b = step.begin_gmem[a]; b < step.end_gmem[a]; ++b) {
    const float s = row_gmem[b];
    if (s > max) {
      sum *= expf(max - s);
      max = s;
    }
    const float weight = expf(s - max);
    row_gmem[b] = weight;
    sum += weight;
  }
  step.max_gmem[row] = max;
  step.sum_gmem[row] = sum;
  matrix.rescale_gmem[row] = expf(carried_max - max);
}

// O' = exp(m - m') O + P v. One thread per number of O.
__global__ void values_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index i = thread_of_this_head();
  if (i >= Index{step.rows} * step.head_dim) return;
  const Index a = i / step.head_dim, d = i % step.head_dim;
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (end <= begin) return;
  const Index row = this_head() * step.rows + a;
  float& o = step.out_gmem[row * step.head_dim + d];
  float total = matrix.rescale_gmem[row] * o;
  const float* const weight_gmem = matrix.score_gmem + row * step.keys;
  const float* const value_gmem = rows_for_this_head(step, step.v_gmem) + d;
  for (int b = begin; b < end; ++b)
    total = fmaf(weight_gmem[b], value_gmem[Index{b} * step.head_dim], total);
  o = total;
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
