// Mistake: two mistakes: softmax_kernel adds the old l as it is, l' = l + sum P, without the factor exp(m - m'); and values_kernel reads V of KV head blockIdx.y % kv_heads (of its batch entry) instead of KV head blockIdx.y / group, which is wrong for grouped heads.
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
  const Index number = thread_of_this_head();
  const Index a = number / step.keys, b = number % step.keys;
  if (a >= step.rows) return;
  const bool seen = step.begin_gmem[a] <= b && b < step.end_gmem[a];
  if (!seen) return;
  const float* query_gmem = rows_of_this_head(step) + a * step.head_dim;
  const float* key_gmem = rows_for_this_head(step, step.k_gmem) + b * step.head_dim;
  float dot = 0.0f;
  for (int d = 0; d < step.head_dim; ++d) dot += query_gmem[d] * key_gmem[d];
  matrix.score_gmem[(this_head() * step.rows + a) * step.keys + b] = dot * step.softmax_scale;
}

// m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P. One thread per row.
__global__ void softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index a = thread_of_this_head();
  if (a >= step.rows) return;
  const int from = step.begin_gmem[a], to = step.end_gmem[a];
  if (from >= to) return;
  const Index row = this_head() * step.rows + a;
  float* const weight_gmem = matrix.score_gmem + row * step.keys;
  const float m = step.max_gmem[row];
  float m_new = m;
  for (int b = from; b < to; ++b)
    if (weight_gmem[b] > m_new) m_new = weight_gmem[b];
  float l = step.sum_gmem[row];
  for (int b = from; b < to; ++b) {
    const float p = expf(weight_gmem[b] - m_new);
    weight_gmem[b] = p;
    l += p;
  }
  matrix.rescale_gmem[row] = expf(m - m_new);
  step.max_gmem[row] = m_new;
  step.sum_gmem[row] = l;
}

// O' = exp(m - m') O + P v. One thread per number of O.
__global__ void values_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index number = thread_of_this_head();
  const Index a = number / step.head_dim, d = number % step.head_dim;
  if (a >= step.rows) return;
  const int from = step.begin_gmem[a], to = step.end_gmem[a];
  if (from >= to) return;
  const Index row = this_head() * step.rows + a;
  const Index kv_head = Index{blockIdx.z} * step.kv_heads + int(blockIdx.y) % step.kv_heads;
  const float* v_gmem = static_cast<const float*>(step.v_gmem) + (kv_head * step.keys + from) * step.head_dim + d;
  float sum = 0;
  for (int b = from; b < to; ++b, v_gmem += step.head_dim)
    sum = fmaf(matrix.score_gmem[row * step.keys + b], *v_gmem, sum);
  float& out = step.out_gmem[row * step.head_dim + d];
  out = fmaf(out, matrix.rescale_gmem[row], sum);
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
