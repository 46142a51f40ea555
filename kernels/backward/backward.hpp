#pragma once
/// @file
/// The backward kernels: the gradients of one shard of queries against one KV block. As in forward/, the
/// rungs are numbered files of this folder; each says at its end what it admits, and rungs.cpp lists them.
/// Per head, with S = softmax_scale q kᵀ:
///   P = exp(S - lse), dv = Pᵀ dout, dP = dout vᵀ, dS = P * (dP - delta),
///   dq = softmax_scale dS k, dk = softmax_scale dSᵀ q;
/// dk and dv are sums over the query heads that share their KV head. lse and delta are those of the whole
/// row, over all KV blocks: a ring's backward pass adds up its blocks and merges nothing.

#include <span>

#include "engine/rung.hpp"

namespace ringcraft::kernels {

/// One step of a ring's backward pass. Device memory throughout, row-major and contiguous. kv_heads divides
/// heads; query head h reads KV head h / (heads / kv_heads).
struct BackwardStep {
  static constexpr const char* kPass = "backward";

  const void* q_gmem;       ///< [batch, heads, rows, head_dim], numbers of the rung's dtype
  const void* dout_gmem;    ///< as q
  const float* lse_gmem;    ///< [batch, heads, rows]; NaN will do where a row sees no key of this block
  const float* delta_gmem;  ///< rowsum(out * dout), as lse
  const void* k_gmem;       ///< [batch, kv_heads, keys, head_dim], as q
  const void* v_gmem;       ///< as k

  const int* key_begin_gmem;  ///< [rows]: row a sees the keys key_begin[a] <= b < key_end[a]; never decreases
  const int* key_end_gmem;    ///< [rows]: at most keys; never decreases
  const int* row_begin_gmem;  ///< [keys]: the same from the key's side, KeyRanges::transposed
  const int* row_end_gmem;    ///< [keys]

  float* dq_gmem;  ///< as q; added to, as are the next two
  float* dk_gmem;  ///< as k
  float* dv_gmem;  ///< as k

  int batch, heads, kv_heads;  ///< batch and heads are at most 65535
  int rows, keys;              ///< of this shard and of this block; 0 and any other number
  int head_dim;                ///< 1 to what the rung admits
  float softmax_scale;         ///< a score is softmax_scale * dot(q, k)
  int tile = 0;                ///< which of the rung's tile sizes it takes (Rung::tiles)
};

/// Gradients, lse and delta are float32. All rungs take every mask, length, grouping of heads and batch.
using BackwardRung = Rung<BackwardStep>;

/// P and dS in global memory.
extern const BackwardRung kNaiveBackward;
/// One kernel for dq, one for dk and dv, on tiles in shared memory.
extern const BackwardRung kTwoKernels;

/// The same on tensor cores, for bf16.
extern const BackwardRung kTensorCoresBackward;
/// The same in one kernel, whose thread blocks add to dq in no fixed order.
extern const BackwardRung kFusedBackward;

/// All rungs, by number.
std::span<const BackwardRung* const> backward_rungs();

}  // namespace ringcraft::kernels
