// Mistake: The factor multiplies the old O and the new sum P v together instead of the old O alone.
#include <cmath>

#include "engine/launch.cuh"
#include "forward/forward.hpp"
#include "forward/score_matrix.cuh"

namespace ringcraft::kernels {
namespace {

// q or k or v: number d of a row
__device__ float number(const float* matrix, Index row, int width, int d) { return matrix[row * width + d]; }

constexpr int kThreads = 256;

// Grid: (thread blocks for the numbers of one head, heads, batch).
__device__ Index thread_of_this_head() { return Index{blockIdx.x} * kThreads + threadIdx.x; }

// S = softmax_scale q kᵀ. One thread per score.
__global__ void scores_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index me = thread_of_this_head();
  const Index scores = Index{step.rows} * step.keys;
  if (me < scores) {
    const Index a = me / step.keys, b = me - a * step.keys;
    if (b >= step.begin_gmem[a] && b < step.end_gmem[a]) {
      const float* q = rows_of_this_head(step);
      const float* k = rows_for_this_head(step, step.k_gmem);
      float sum = 0.0f;
      for (int d = 0; d < step.head_dim; d++)
        sum += number(q, a, step.head_dim, d) * number(k, b, step.head_dim, d);
      matrix.score_gmem[this_head() * scores + me] = sum * step.softmax_scale;
    }
  }
}

// m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P. One thread per row.
__global__ void softmax_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index a = thread_of_this_head();
  if (a >= step.rows || step.begin_gmem[a] >= step.end_gmem[a]) return;
  const Index number_of_row = this_head() * step.rows + a;
  float* const row = matrix.score_gmem + number_of_row * step.keys;

  float biggest = step.max_gmem[number_of_row];
  for (int b = step.begin_gmem[a]; b < step.end_gmem[a]; b++)
    if (row[b] > biggest) biggest = row[b];

  const float alpha = expf(step.max_gmem[number_of_row] - biggest);
  float l = alpha * step.sum_gmem[number_of_row];
  for (int b = step.begin_gmem[a]; b < step.end_gmem[a]; b++) {
    const float w = expf(row[b] - biggest);
    l += w;
    row[b] = w;
  }
  step.max_gmem[number_of_row] = biggest;
  step.sum_gmem[number_of_row] = l;
  matrix.rescale_gmem[number_of_row] = alpha;
}

// O' = exp(m - m') O + P v. One thread per number of O.
__global__ void values_kernel(const ForwardStep step, ScoreMatrix matrix) {
  const Index me = thread_of_this_head();
  if (me >= Index{step.rows} * step.head_dim) return;
  const Index a = me / step.head_dim;
  const int d = int(me % step.head_dim);
  if (step.begin_gmem[a] >= step.end_gmem[a]) return;
  const Index number_of_row = this_head() * step.rows + a;
  const float alpha = matrix.rescale_gmem[number_of_row];
  const float* weights = matrix.score_gmem + number_of_row * step.keys;
  const float* v = rows_for_this_head(step, step.v_gmem);
  float o = step.out_gmem[this_head() * step.rows * step.head_dim + me];

  for (int b = step.begin_gmem[a]; b < step.end_gmem[a]; b++) o += weights[b] * number(v, b, step.head_dim, d);
  step.out_gmem[this_head() * step.rows * step.head_dim + me] = alpha * o;
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
