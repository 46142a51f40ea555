// Backward rung 01: the gradients as their formulas are written, three kernels with P and dS in global
// memory. float32, one thread for each number that a kernel writes; no two threads write the same one, so
// that every run adds in the same order and gives the same bits.
//
// Division of work: a thread of `weights` computes P and dS of one pair of a row and a key, a thread of `dq`
// sums one number of dq over the keys of its row, and a thread of `dkdv` one number of dk and of dv over the
// rows of its key, one query head of the group after the other.
//
// Weaknesses: all those of rung 01 of the forward pass, twice. P and dS are the memory wall of two score
// matrices; `weights` reads uncoalesced; nothing that is fetched is used twice.
#include <cmath>

#include "backward/backward.hpp"
#include "engine/launch.cuh"

namespace ringcraft::kernels {
namespace {

constexpr int kThreads = 256;

__device__ const float* floats(const void* gmem) { return static_cast<const float*>(gmem); }

// The workspace: [batch, heads, rows, keys] each, defined where a row sees a key.
struct Matrices {
  float* p_gmem;
  float* ds_gmem;
};

Index pairs_of(const BackwardStep& step) { return Index{step.batch} * step.heads * step.rows * step.keys; }

Index workspace_size(const BackwardStep& step) { return 2 * pairs_of(step); }

// Grid: (thread blocks for the numbers of one head, heads or kv_heads, batch).
__device__ Index thread_of_head() { return Index{blockIdx.x} * kThreads + threadIdx.x; }
__device__ Index this_head() { return Index{blockIdx.z} * gridDim.y + blockIdx.y; }

// The KV head that this query head reads, counted over the batch.
__device__ Index kv_head_of(const BackwardStep& step) {
  return Index{blockIdx.z} * step.kv_heads + int(blockIdx.y) / (step.heads / step.kv_heads);
}

__device__ float dot(const float* a_gmem, const float* b_gmem, int head_dim) {
  float sum = 0;
  for (int d = 0; d < head_dim; ++d) sum = fmaf(a_gmem[d], b_gmem[d], sum);
  return sum;
}

// P = exp(S - lse), dS = P * (dout vᵀ - delta). One thread per pair.
__global__ void weights_kernel(const BackwardStep step, Matrices matrices) {
  const Index i = thread_of_head();
  if (i >= Index{step.rows} * step.keys) return;
  const int a = int(i / step.keys), b = int(i % step.keys);
  if (b < step.key_begin_gmem[a] || b >= step.key_end_gmem[a]) return;

  const Index row = this_head() * step.rows + a, key = kv_head_of(step) * step.keys + b;
  const int head_dim = step.head_dim;
  const float score = step.softmax_scale * dot(floats(step.q_gmem) + row * head_dim,
                                               floats(step.k_gmem) + key * head_dim, head_dim);
  const float dp =
      dot(floats(step.dout_gmem) + row * head_dim, floats(step.v_gmem) + key * head_dim, head_dim);
  const float p = expf(score - step.lse_gmem[row]);
  matrices.p_gmem[row * step.keys + b] = p;
  matrices.ds_gmem[row * step.keys + b] = p * (dp - step.delta_gmem[row]);
}

// dq += softmax_scale dS k. One thread per number of dq.
__global__ void dq_kernel(const BackwardStep step, Matrices matrices) {
  const Index i = thread_of_head();
  if (i >= Index{step.rows} * step.head_dim) return;
  const int a = int(i / step.head_dim), d = int(i % step.head_dim);
  const Index row = this_head() * step.rows + a;
  const float* const ds_gmem = matrices.ds_gmem + row * step.keys;
  const float* const k_gmem = floats(step.k_gmem) + kv_head_of(step) * step.keys * step.head_dim + d;
  float sum = 0;
  for (int b = step.key_begin_gmem[a]; b < step.key_end_gmem[a]; ++b)
    sum = fmaf(ds_gmem[b], k_gmem[Index{b} * step.head_dim], sum);
  step.dq_gmem[row * step.head_dim + d] += step.softmax_scale * sum;
}

// dk += softmax_scale dSᵀ q, dv += Pᵀ dout. One thread per number of dk, and of dv.
__global__ void dkdv_kernel(const BackwardStep step, Matrices matrices) {
  const Index i = thread_of_head();
  if (i >= Index{step.keys} * step.head_dim) return;
  const int b = int(i / step.head_dim), d = int(i % step.head_dim);
  const int group = step.heads / step.kv_heads;
  float dk = 0, dv = 0;
  for (Index head = this_head() * group; head < (this_head() + 1) * group; ++head)
    for (int a = step.row_begin_gmem[b]; a < step.row_end_gmem[b]; ++a) {
      const Index row = head * step.rows + a;
      dk = fmaf(matrices.ds_gmem[row * step.keys + b], floats(step.q_gmem)[row * step.head_dim + d], dk);
      dv = fmaf(matrices.p_gmem[row * step.keys + b], floats(step.dout_gmem)[row * step.head_dim + d], dv);
    }
  const Index out = (this_head() * step.keys + b) * step.head_dim + d;
  step.dk_gmem[out] += step.softmax_scale * dk;
  step.dv_gmem[out] += dv;
}

void enqueue(const BackwardStep& step, float* workspace_gmem, cudaStream_t stream) {
  const Matrices matrices{workspace_gmem, workspace_gmem + pairs_of(step)};
  const auto each = [&](void (*kernel)(const BackwardStep, Matrices), Index threads_of_head, int heads) {
    const dim3 grid(unsigned((threads_of_head + kThreads - 1) / kThreads), unsigned(heads),
                    unsigned(step.batch));
    launch(kernel, grid, kThreads, 0, stream, step, matrices);
  };
  each(weights_kernel, Index{step.rows} * step.keys, step.heads);
  each(dq_kernel, Index{step.rows} * step.head_dim, step.heads);
  each(dkdv_kernel, Index{step.keys} * step.head_dim, step.kv_heads);
}

}  // namespace

const BackwardRung kNaiveBackward{1, "naive", DType::kFloat32, 128, workspace_size, enqueue};

}  // namespace ringcraft::kernels
