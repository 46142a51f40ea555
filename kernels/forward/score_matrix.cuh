#pragma once
/// @file
/// Shared by rungs 01 and 02: the score matrix in global memory, and which head a thread block works on.

#include "forward/forward.hpp"

namespace ringcraft::kernels {

/// The workspace of a rung that stores the scores.
struct ScoreMatrix {
  float* score_gmem;    ///< S, then P, [batch, heads, rows, keys]; defined where a row sees a key
  float* rescale_gmem;  ///< exp(m - m'), [batch, heads, rows]: what the O of earlier blocks is multiplied by

  /// How many numbers both of them take.
  static Index size(const ForwardStep& step) { return rows_of_all_heads(step) * (Index{step.keys} + 1); }
  /// Cuts them out of the caller's memory.
  static ScoreMatrix in(float* workspace_gmem, const ForwardStep& step) {
    return {workspace_gmem, workspace_gmem + rows_of_all_heads(step) * step.keys};
  }

 private:
  static Index rows_of_all_heads(const ForwardStep& step) {
    return Index{step.batch} * step.heads * step.rows;
  }
};

/// The query head of a thread block, counted over the batch. Grid: (anything, heads, batch).
__device__ inline Index this_head() { return Index{blockIdx.z} * gridDim.y + blockIdx.y; }

/// The rows of q of this head, [rows, head_dim].
__device__ inline const float* rows_of_this_head(const ForwardStep& step) {
  return static_cast<const float*>(step.q_gmem) + this_head() * step.rows * step.head_dim;
}

/// The rows of K or V that this head reads, [keys, head_dim].
__device__ inline const float* rows_for_this_head(const ForwardStep& step, const void* kv_gmem) {
  const int group = step.heads / step.kv_heads;
  const Index kv_head = Index{blockIdx.z} * step.kv_heads + int(blockIdx.y) / group;
  return static_cast<const float*>(kv_gmem) + kv_head * step.keys * step.head_dim;
}

}  // namespace ringcraft::kernels
