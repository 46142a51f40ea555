#pragma once
/// @file
/// The small kernels around attention: they fill, finish, sum, and are bound by memory. Plain functions over
/// device pointers; each enqueues one kernel and throws Error if the launch fails. Nothing is done for an
/// empty tensor.

#include <cuda_runtime_api.h>

#include "ringcraft/core/types.hpp"

namespace ringcraft::kernels {

/// x[i] = value for i < count.
void fill(float* x_gmem, Index count, float value, cudaStream_t stream);

/// Ends a forward pass in place: out [rows, head_dim] becomes O / l, max [rows] becomes the lse m + log l. A
/// row that has seen no key, l = 0, stays (0, -inf). `rows` counts all rows of all heads.
void finish_rows(float* out_gmem, float* max_gmem, const float* sum_gmem, Index rows, Index head_dim,
                 cudaStream_t stream);

/// delta[row] = sum over columns of out * dout, both [rows, head_dim]. dout is float32 or bfloat16; throws
/// Error for another type.
void row_delta(const float* out_gmem, const void* dout_gmem, DType dout_type, float* delta_gmem, Index rows,
               Index head_dim, cudaStream_t stream);

/// into[i] += from[i] for i < count.
void add(float* into_gmem, const float* from_gmem, Index count, cudaStream_t stream);

/// A tensor [batch, heads, rows, width] of rows that are copied.
struct CopiedTensor {
  Index heads;       ///< of the tensor
  Index rows;        ///< of the tensor
  Index first_head;  ///< that is copied
};

/// In every batch entry, for `heads` heads and i < count: row to_rows[i] of `to` becomes row from_rows[i] of
/// `from`. Both have rows of row_bytes bytes, an even number.
void copy_rows(void* to_gmem, CopiedTensor to, const void* from_gmem, CopiedTensor from, Index batch,
               Index heads, const int* from_rows_gmem, const int* to_rows_gmem, Index count, Index row_bytes,
               cudaStream_t stream);

}  // namespace ringcraft::kernels
