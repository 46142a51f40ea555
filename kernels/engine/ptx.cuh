#pragma once
/// @file
/// Instructions without a C++ equivalent: asynchronous copies into shared memory, loads and products of
/// matrix fragments by a warp (sm_80 and newer). nvcc compiles the first half; in the second the executor
/// of kernels/host replaces the instructions. The lane that holds an element of a fragment is the same in
/// both: PTX ISA, "Matrix Fragments for mma.m16n8k16". With g = lane / 4 and t = lane % 4,
///   A (16 x 16): register i holds row g + 8 (i % 2), columns 2 t + 8 (i / 2) and the next one;
///   B (16 x 8):  register i holds column g, rows 2 t + 8 i and the next one;
///   C (16 x 8):  register i holds row g + 8 (i / 2), column 2 t + i % 2.
/// Of two 16-bit numbers in a register the one of the lower index lies in the lower half.

#include <cstdint>
#include <type_traits>

#include "engine/numbers16.cuh"

#ifndef __CUDACC__
#include "host/async_copies.hpp"
#include "host/warp_matrix.hpp"
#endif

namespace ringcraft::kernels {

#ifdef __CUDACC__

/// Where shared memory lies, as PTX counts.
__device__ inline unsigned shared_address(const void* smem) {
  return static_cast<unsigned>(__cvta_generic_to_shared(smem));
}

/// Starts to copy 16 bytes from global to shared memory, both at multiples of 16; where not `valid`, starts
/// to write 16 bytes of 0, and reads nothing. The bytes may be read once cp_async_wait() has covered them, by
/// other threads after a barrier that follows.
__device__ inline void cp_async_16(void* smem, const void* gmem, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(smem)), "l"(__cvta_generic_to_global(gmem)), "r"(valid ? 16 : 0)
               : "memory");
}
/// Makes a group of the copies that this thread has started since the last one. It may be empty.
__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until all groups of this thread but the newest `kNewest` have arrived.
template <int kNewest>
__device__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
}

/// Four 8 x 8 matrices of 16-bit numbers from shared memory, by a whole warp: lane l names the row l % 8 of
/// matrix l / 8, 16 bytes at a multiple of 16. Of matrix i, reg[i] gets row lane / 4, columns 2 (lane % 4)
/// and the next one: what mma_16x8x16 wants of A, and of a B whose columns are rows in memory.
__device__ inline void ldmatrix_x4(unsigned (&reg)[4], const void* row_smem) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(reg[0]), "=r"(reg[1]), "=r"(reg[2]), "=r"(reg[3])
               : "r"(shared_address(row_smem))
               : "memory");
}
/// The same of the transposed matrices: reg[i] gets column lane / 4, rows 2 (lane % 4) and the next one. For
/// a B that lies in memory row by row.
__device__ inline void ldmatrix_x4_trans(unsigned (&reg)[4], const void* row_smem) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(reg[0]), "=r"(reg[1]), "=r"(reg[2]), "=r"(reg[3])
               : "r"(shared_address(row_smem))
               : "memory");
}
/// Two matrices; lanes 16 to 31 name rows that are not looked at.
__device__ inline void ldmatrix_x2(unsigned (&reg)[2], const void* row_smem) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(reg[0]), "=r"(reg[1])
               : "r"(shared_address(row_smem))
               : "memory");
}
/// Two transposed ones.
__device__ inline void ldmatrix_x2_trans(unsigned (&reg)[2], const void* row_smem) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(reg[0]), "=r"(reg[1])
               : "r"(shared_address(row_smem))
               : "memory");
}

/// C += A B by a whole warp, 16 x 8 += 16 x 16 times 16 x 8, products and sums in float32. T: Bf16 or Half.
template <class T>
__device__ void mma_16x8x16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (std::is_same_v<T, Bf16>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#else

// The default arguments are evaluated where a kernel calls: they are that line.
inline void cp_async_16(void* smem, const void* gmem, bool valid, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  simt::async_copies().start(smem, gmem, valid, {file, line});
}
inline void cp_async_commit() { simt::async_copies().commit(); }
template <int kNewest>
void cp_async_wait(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  simt::async_copies().wait(kNewest, {file, line});
}

inline void ldmatrix_x4(unsigned (&reg)[4], const void* row_smem, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  simt::load_matrices({row_smem, reg, 4, simt::Order::kRows, {file, line}});
}
inline void ldmatrix_x4_trans(unsigned (&reg)[4], const void* row_smem, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  simt::load_matrices({row_smem, reg, 4, simt::Order::kColumns, {file, line}});
}
inline void ldmatrix_x2(unsigned (&reg)[2], const void* row_smem, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  simt::load_matrices({row_smem, reg, 2, simt::Order::kRows, {file, line}});
}
inline void ldmatrix_x2_trans(unsigned (&reg)[2], const void* row_smem, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  simt::load_matrices({row_smem, reg, 2, simt::Order::kColumns, {file, line}});
}

template <class T>
void mma_16x8x16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const unsigned b[2] = {b0, b1};
  simt::multiply_matrices({a, b, c, [](std::uint16_t bits) { return widened(T{bits}); }}, {file, line});
}

#endif

}  // namespace ringcraft::kernels
