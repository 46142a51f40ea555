// Mistake: In the third kernel query head h reads the values of KV head h % kv_heads instead of those of KV head h / (heads / kv_heads); the keys that the first kernel reads are those of the right KV head.
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
  const Index number = thread_of_this_head(), keys = step.keys;
  if (number >= keys * step.rows) return;
  const Index row = number / keys, key = number - row * keys;
  const bool sees = step.begin_gmem[row] <= key && key < step.end_gmem[row];
  if (!sees) return;
  const float* q_gmem = rows_of_this_head(step) + row * step.head_dim;
  const float* k_gmem = rows_for_this_head(step, step.k_gmem) + key * step.head_dim;
  float dot = 0.0f;
  for (int c = step.head_dim; c > 0; --c, ++q_gmem, ++k_gmem) dot = fmaf(*q_gmem, *k_gmem, dot);
  matrix.score_gmem[this_head() * step.rows * keys + number] = dot * step.softmax_scale;
}

// m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P. One thread per row.
__global__ void softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index a = thread_of_this_head();
  if (a >= step.rows) return;
  const int first = step.begin_gmem[a], last = step.end_gmem[a];
  if (first >= last) return;
  const Index row = this_head() * step.rows + a;
  float* const s_gmem = matrix.score_gmem + row * step.keys;

  const float m = step.max_gmem[row];
  float new_m = m;
  for (int b = first; b < last; ++b) new_m = fmaxf(new_m, s_gmem[b]);
  const float factor = m == -INFINITY ? 0.0f : expf(m - new_m);
  float l = 0;
  for (int b = first; b < last; ++b) {
    const float p = expf(s_gmem[b] - new_m);
    s_gmem[b] = p;
    l += p;
  }
  step.max_gmem[row] = new_m;
  step.sum_gmem[row] = fmaf(factor, step.sum_gmem[row], l);
  matrix.rescale_gmem[row] = factor;
}

// O' = exp(m - m') O + P v. One thread per number of O.
__global__ void values_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index i = thread_of_this_head();
  const int width = step.head_dim;
  if (i >= Index{step.rows} * width) return;
  const Index a = i / width;
  const int d = int(i % width), first = step.begin_gmem[a], last = step.end_gmem[a];
  if (first >= last) return;
  const float factor = matrix.rescale_gmem[this_head() * step.rows + a];
  const float* const p_gmem = matrix.score_gmem + (this_head() * step.rows + a) * step.keys;
  const Index kv_head = Index{blockIdx.z} * step.kv_heads + int(blockIdx.y) % step.kv_heads;
  const float* const v_gmem = static_cast<const float*>(step.v_gmem) + kv_head * step.keys * width;
  float sum = 0;
  for (int b = first; b < last; ++b) sum = fmaf(p_gmem[b], v_gmem[Index{b} * width + d], sum);
  const Index at = this_head() * step.rows * width + i;
  step.out_gmem[at] = fmaf(factor, step.out_gmem[at], sum);
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
