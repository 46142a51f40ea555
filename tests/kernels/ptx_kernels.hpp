#pragma once
/// @file
/// Small kernels around single instructions (kernels/engine/ptx.cuh), for nvcc and for the CPU. All pointers
/// name device memory; each function enqueues one launch on the default stream.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ringcraft::kernels {

/// The types that tensor cores multiply.
enum class Format { kBf16, kHalf };

/// How the fragments of a product reach registers.
enum class Fragments {
  kByHand,        ///< element by element, as the layout is documented; B is [16, 8]
  kLdmatrix,      ///< ldmatrix of A and of B transposed, [8, 16]
  kLdmatrixTrans  ///< ldmatrix of A, ldmatrix.trans of B, [16, 8]
};

/// c = a b, one warp. a: [16, 16] and b of 16-bit numbers; c: [16, 8].
void product(Format format, Fragments fragments, const std::uint16_t* a, const std::uint16_t* b, float* c);

/// Each float32 as a 16-bit number: pairs by packed(), an odd last one by narrowed(); and widened again.
void convert(Format format, const float* from, int count, std::uint16_t* to, float* back);

/// Powers of 2.
void exponentials(const float* from, int count, float* to);

/// How a kernel waits for its copies.
enum class Waiting {
  kRight,       ///< for the group that it reads
  kNever,       ///< not at all
  kOneTooFew,   ///< leaves the group that it reads in flight
  kUncommitted  ///< for a copy that no group holds
};
/// Copies 32 threads x 4 floats by way of shared memory, in two groups of half the numbers each. Reads the
/// first half after waiting for it, then the second one likewise. Those from `valid` on become 0.
void copy_asynchronously(Waiting waiting, const float* from, int valid, float* to);

}  // namespace ringcraft::kernels
