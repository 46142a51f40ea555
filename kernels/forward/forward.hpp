#pragma once
/// @file
/// The forward kernels: device pointers and extents in, work enqueued on a stream. No header of a kernel
/// contains a launch, so that host compilers can read them. The rungs are numbered files of this folder; each
/// says at its end what it admits, and rungs.cpp lists them, so that an engine, tests and the ladder take any
/// of them.

#include <span>

#include "engine/rung.hpp"

namespace ringcraft::kernels {

/// One step of a ring: the queries of a shard against one KV block, added to the running (O, m, l) of the
/// shard. Device memory throughout, row-major and contiguous. kv_heads divides heads; query head h reads KV
/// head h / (heads / kv_heads).
struct ForwardStep {
  static constexpr const char* kPass = "forward";

  const void* q_gmem;  ///< [batch, heads, rows, head_dim], numbers of the rung's dtype, as the next two
  const void* k_gmem;  ///< [batch, kv_heads, keys, head_dim]
  const void* v_gmem;  ///< [batch, kv_heads, keys, head_dim]

  const int*
      begin_gmem;       ///< [rows]: row a sees the keys begin[a] <= b < end[a] of this block; never decreases
  const int* end_gmem;  ///< [rows]: at most keys; never decreases

  float*
      out_gmem;  ///< O, unnormalised, [batch, heads, rows, head_dim]; read and written, as are the next two
  float* max_gmem;  ///< m, [batch, heads, rows], in units of scaled scores (natural logarithm)
  float* sum_gmem;  ///< l, [batch, heads, rows]

  int batch, heads, kv_heads;  ///< batch and heads are at most 65535
  int rows, keys;              ///< of this shard and of this block; 0 and any other number
  int head_dim;                ///< 1 to what the rung admits
  float softmax_scale;         ///< a score is softmax_scale * dot(q, k)
  int tile = 0;                ///< which of the rung's tile sizes it takes (Rung::tiles)
};

/// O, m and l are float32. All rungs take every mask, length, grouping of heads and batch; a row that sees no
/// key of the block keeps its bits.
using ForwardRung = Rung<ForwardStep>;

/// The score matrix in global memory.
extern const ForwardRung kNaive;
/// The same with tiles in shared memory.
extern const ForwardRung kTiles;
/// One kernel, whose scores never leave the registers.
extern const ForwardRung kOnlineSoftmax;
/// The same on tensor cores, for bf16.
extern const ForwardRung kTensorCores;
/// The same in swizzled shared memory, whose tiles are copied while others are computed on.
extern const ForwardRung kPipeline;

/// All rungs, by number.
std::span<const ForwardRung* const> forward_rungs();

}  // namespace ringcraft::kernels
