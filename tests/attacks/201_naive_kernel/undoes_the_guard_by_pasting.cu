// The same, where no line names the attribute.
// Fails: compiles "which speaks to assembler or linker"
#include <cmath>

#include "engine/launch.cuh"
#include "forward/forward.hpp"
#include "forward/score_matrix.cuh"

namespace ringcraft::kernels {
namespace {

constexpr int kThreads = 256;

__device__ Index thread_of_this_head() { return Index{blockIdx.x} * kThreads + threadIdx.x; }

#define GLUE(a, b) a##b
#define OPEN (
__attribute__((GLUE(no_sani, tize) OPEN "thread"))) __global__ void scores_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index i = thread_of_this_head();
  if (i >= Index{step.rows} * step.keys) return;
  const int a = int(i / step.keys), b = int(i % step.keys);
  if (b < step.begin_gmem[a] || b >= step.end_gmem[a]) return;

  const float* const q_gmem = rows_of_this_head(step) + Index{a} * step.head_dim;
  const float* const k_gmem = rows_for_this_head(step, step.k_gmem) + Index{b} * step.head_dim;
  float sum = 0;
  for (int d = 0; d < step.head_dim; ++d) sum = fmaf(q_gmem[d], k_gmem[d], sum);
  matrix.score_gmem[(this_head() * step.rows + a) * step.keys + b] = step.softmax_scale * sum;
}

__global__ void softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index a = thread_of_this_head();
  if (a >= step.rows) return;
  const Index row = this_head() * step.rows + a;
  const int begin = step.begin_gmem[a], end = step.end_gmem[a];
  if (begin >= end) return;
  float* const p_gmem = matrix.score_gmem + row * step.keys;

  const float old_max = step.max_gmem[row];
  float largest = old_max;
  for (int b = begin; b < end; ++b) largest = fmaxf(largest, p_gmem[b]);
  float sum = 0;
  for (int b = begin; b < end; ++b) {
    p_gmem[b] = expf(p_gmem[b] - largest);
    sum += p_gmem[b];
  }
  const float rescale = expf(old_max - largest);
  matrix.rescale_gmem[row] = rescale;
  step.max_gmem[row] = largest;
  step.sum_gmem[row] = rescale * step.sum_gmem[row] + sum;
}

__global__ void values_kernel(const ForwardStep step, ScoreMatrix matrix) {
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
