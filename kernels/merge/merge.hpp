#pragma once
/// @file
/// The merge of two partial results in device memory (lesson 205), for code that gets the result of a block
/// apart from the state: from a kernel that knows no ring, as attention libraries have it. The rungs of
/// forward/ carry (O, m, l) themselves and need it not.

#include <cuda_runtime_api.h>

#include "ringcraft/core/types.hpp"

namespace ringcraft::kernels {

/// The partial results of `rows` rows (of all heads): O [rows, head_dim], unnormalised, m [rows], l [rows].
/// The identity, which has seen no key, is (0, -inf, 0).
template <class T>
struct Partials {
  T* out_gmem;
  T* max_gmem;
  T* sum_gmem;
};

/// acc becomes the partial of its own keys and the block's together. With m = max(m_a, m_b):
///   w_a = exp(m_a - m), w_b = exp(m_b - m), l = w_a l_a + w_b l_b, O = w_a O_a + w_b O_b.
/// Enqueues one kernel, or none if there are no rows. Throws Error if the launch fails.
void merge(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, cudaStream_t stream);

/// The same for normalised results: out [rows, head_dim] and lse [rows], whose identity is (0, -inf), become
/// (w_a out_a + w_b out_b) / (w_a + w_b) and the logarithm of the sum, with w = exp(lse - max(lse_a, lse_b)).
void merge_normalized(float* out_gmem, float* lse_gmem, const float* block_out_gmem,
                      const float* block_lse_gmem, Index rows, int head_dim, cudaStream_t stream);

}  // namespace ringcraft::kernels
