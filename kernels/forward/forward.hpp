#pragma once
/// @file
/// The forward kernels, one plain function for each rung: device pointers and extents in, work enqueued on a
/// stream. No header of a kernel shows a launch, so that host compilers read them. The rungs are numbered
/// files of this folder.

#include <cuda_runtime_api.h>

namespace ringcraft::kernels {

/// The largest head_dim that the forward kernels take.
inline constexpr int kLargestHeadDim = 128;

/// One step of a ring: the queries of a shard against one KV block, added to the running (O, m, l) of the
/// shard. Device memory throughout, row-major and contiguous. kv_heads divides heads; query head h reads KV
/// head h / (heads / kv_heads).
struct ForwardStep {
  const float* q_gmem;  ///< [batch, heads, rows, head_dim]
  const float* k_gmem;  ///< [batch, kv_heads, keys, head_dim]
  const float* v_gmem;  ///< [batch, kv_heads, keys, head_dim]

  const int*
      begin_gmem;       ///< [rows]: row a sees the keys begin[a] <= b < end[a] of this block; never decreases
  const int* end_gmem;  ///< [rows]: at most keys; never decreases

  float*
      out_gmem;  ///< O, unnormalised, [batch, heads, rows, head_dim]; read and written, as are the next two
  float* max_gmem;  ///< m, [batch, heads, rows], in units of scaled scores (natural logarithm)
  float* sum_gmem;  ///< l, [batch, heads, rows]

  int batch, heads, kv_heads;  ///< batch and heads are at most 65535
  int rows, keys;              ///< of this shard and of this block; 0 and any other number
  int head_dim;                ///< 1 to kLargestHeadDim
  float softmax_scale;         ///< a score is softmax_scale * dot(q, k)
};

/// Rung 03: fused attention with an online softmax, float32. Enqueues one kernel on the stream and returns.
/// Throws Error for a head_dim above kLargestHeadDim and when the launch fails.
void online_softmax(const ForwardStep& step, cudaStream_t stream);

}  // namespace ringcraft::kernels
