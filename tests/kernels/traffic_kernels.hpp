#pragma once
/// @file
/// Accesses whose traffic can be worked out by hand.

#include <cuda_runtime_api.h>

namespace ringcraft::kernels {

/// A warp writes a 32 x 32 tile of float32 row by row and reads it column by column; rows are `stride` floats
/// apart.
void transpose(int stride, const float* from, float* to);
/// A warp reads float4 from 32 rows that are `stride` floats apart, at the same column of each.
void read_vectors(int stride, const float* from, float* to);
/// A warp loads a 16 x 16 tile of 16-bit numbers by one ldmatrix; rows are `stride` numbers apart.
void load_tile(int stride, float* to);
/// A warp copies float4 into 32 rows of shared memory by cp.async; rows are `stride` floats apart.
void copy_vectors(int stride, const float* from, float* to);
/// A warp reads a float each, `stride` apart in device memory.
void gather(int stride, const float* from, float* to);

}  // namespace ringcraft::kernels
