// Kernels with one mistake each that sass.py must find in their machine code, and one without. sass.sh
// compiles them, and requires that each "expected" (grep -E) is reported, and nothing else.
#include "engine/ptx.cuh"

namespace ringcraft::kernels {
namespace {

__device__ int thread() { return int(threadIdx.x); }

// The operands of a product, out of shared memory.
__device__ void load_operands(const Bf16* rows_smem, unsigned (&a_reg)[4], unsigned (&b_reg)[2]) {
  ldmatrix_x4(a_reg, rows_smem + thread() % 16 * 16 + thread() / 16 * 8);
  ldmatrix_x2(b_reg, rows_smem + thread() % 8 * 16 + thread() / 8 % 2 * 8);
}
__device__ void store(const float (&c_reg)[4], float* c) {
  for (int i = 0; i < 4; ++i) c[4 * thread() + i] = c_reg[i];
}

}  // namespace

// expected: barrier_under_a_predicate: .* a barrier that some threads may skip
__global__ void barrier_under_a_predicate(float* x) {
  __shared__ float x_smem[64];
  x_smem[thread()] = x[thread()];
  if (thread() % 32 < 16) __syncthreads();
  x[thread()] = x_smem[63 - thread()];
}

// A loop that the threads enter whose own number is positive.
// expected: barrier_in_a_branch: .* a barrier on one way of @!?P[0-9] BRA at .*
__global__ void barrier_in_a_branch(float* x, int times) {
  __shared__ float x_smem[64];
  x_smem[thread()] = x[thread()];
  if (x[thread()] > 0) {
#pragma unroll 1
    for (int i = 0; i < times; ++i) {
      x_smem[thread()] += 1 / x_smem[63 - thread()];
      __syncthreads();
    }
  }
  x[thread()] = x_smem[63 - thread()];
}

// expected: barrier_after_an_exit: .* a barrier on one way of @!?P[0-9] EXIT at .*
__global__ void barrier_after_an_exit(float* x, int rows) {
  __shared__ float x_smem[64];
  x_smem[thread()] = x[thread()];
  if (thread() >= rows) return;
  __syncthreads();
  x[thread()] = x_smem[63 - thread()];
}

// Right: one number for all threads decides.
__global__ void barrier_where_all_go(float* x, const int* times) {
  __shared__ float x_smem[64];
  x_smem[thread()] = x[thread()];
  for (int i = 0; i < times[blockIdx.x]; ++i) {
    __syncthreads();
    const float other = x_smem[63 - thread()];
    __syncthreads();
    if (other > 0) x_smem[thread()] = 1 / other;
  }
  x[thread()] = x_smem[thread()];
}

// expected: copy_in_any_case: .* LDGSTS.* reads in any case
__global__ void copy_in_any_case(const Bf16* from, Bf16* to) {
  __shared__ alignas(16) Bf16 rows_smem[64 * 8];
  cp_async_16(rows_smem + 8 * thread(), from + 8 * thread(), true);
  cp_async_commit();
  cp_async_wait<0>();
  for (int i = 0; i < 8; ++i) to[8 * thread() + i] = rows_smem[8 * thread() + i];
}

// expected: load_in_any_case: .* LDG.*U16.* reads in any case
__global__ void load_in_any_case(const Bf16* from, float* c) {
  __shared__ alignas(16) Bf16 rows_smem[16 * 16];
  rows_smem[thread()] = from[thread()];
  unsigned a_reg[4], b_reg[2];
  load_operands(rows_smem, a_reg, b_reg);
  float c_reg[4] = {};
  mma_16x8x16<Bf16>(c_reg, a_reg, b_reg[0], b_reg[1]);
  store(c_reg, c);
}

// Only one way leads over ldmatrix.
// expected: operand_by_hand: 1 HMMA with A from LDSM, B from LD[CG].*/LDSM
__global__ void operand_by_hand(const unsigned* b, float* c, bool loads) {
  __shared__ alignas(16) Bf16 rows_smem[16 * 16];
  unsigned a_reg[4], b_reg[2];
  load_operands(rows_smem, a_reg, b_reg);
  if (!loads) b_reg[0] = b[thread()];
  float c_reg[4] = {};
  mma_16x8x16<Bf16>(c_reg, a_reg, b_reg[0], b_reg[1]);
  store(c_reg, c);
}

// Called like that of rung 04, with one product of the 32 that scores take, and none of those with weights.
// expected: tensor_core_kernel<64>: 1 HMMA with A from LDSM, B from LDSM, expected 32
// expected: tensor_core_kernel<64>: 0 HMMA with A from F2FP, B from LDSM.T, expected 32
template <int kHeadDim>
__global__ void tensor_core_kernel(float* c) {
  __shared__ alignas(16) Bf16 rows_smem[16 * 16];
  unsigned a_reg[4], b_reg[2];
  load_operands(rows_smem, a_reg, b_reg);
  float c_reg[4] = {};
  mma_16x8x16<Bf16>(c_reg, a_reg, b_reg[0], b_reg[1]);
  store(c_reg, c);
}
template __global__ void tensor_core_kernel<64>(float*);

}  // namespace ringcraft::kernels
