#pragma once
/// @file
/// The oracle: what is right, and how much rounding may move it. Plain loops in double over all visible
/// pairs, with an element-wise mask predicate of its own (no key ranges, no blocks, no merge), so that it
/// shares no idea, and no mistake, with what it judges. It is never an exercise.

#include <vector>

#include "verify/tensors.hpp"

namespace ringcraft::verify {

/// Whether the query at position q sees the key at position k: at most mask.left before it, at most
/// mask.right after it, in the same sequence.
bool visible(const Mask& mask, Position q, Position k);

/// Attention of some queries over some keys of one sequence, which need not be the same tokens: one shard
/// against one KV block, say. A query may see no key at all. The whole of a Problem is the case of all
/// positions on both sides.
struct BlockProblem {
  Index batch = 1, heads = 1, kv_heads = 1, head_dim = 0;
  Mask mask;
  std::vector<Position> queries, keys;  ///< positions, increasing
  double softmax_scale = 1.0;

  /// Extents of q, out, dq, dout.
  Extents q_extents() const { return {batch, heads, static_cast<Index>(queries.size()), head_dim}; }
  /// Extents of k, v, dk, dv.
  Extents kv_extents() const { return {batch, kv_heads, static_cast<Index>(keys.size()), head_dim}; }
  /// Extents of lse.
  Extents row_extents() const { return {batch, heads, static_cast<Index>(queries.size()), 1}; }
};

/// All queries of a problem against all its keys.
BlockProblem whole(const Problem& problem);

/// The value of every element, and its scale: the same sum over absolute terms, in which each weight also
/// carries the condition of its score. With s = |softmax_scale|, P the weights (0 where masked), |x| element
/// by element:
///   c_ij = 1 + s |q_i| . |k_j|,  r_i = sum_j P_ij c_ij,  w_ij = P_ij (c_ij + r_i)
///   scale(out_i) = sum_j w_ij |v_j|,  scale(lse_i) = 1 + r_i,  scale(dv_j) = sum_i w_ij |dout_i|
///   z_ij = s [w_ij (|dout_i| . |v_j| + sum_n P_in |dout_i| . |v_n|) + P_ij |dout_i| . scale(out_i)]
///   scale(dq_i) = sum_j z_ij |k_j|,  scale(dk_j) = sum_i z_ij |q_i|
/// dk, dv and their scales are summed over the query heads of the group. Correct code in double stays
/// below 1.2e-15 of the scale on every input. All tensors are float64; gradients are empty if the inputs have
/// no dout. A query without a key has out = 0, lse = -inf, dq = 0.
struct Oracle {
  Answer value, scale;
};

/// The right answer to a problem, for inputs of any number type. Memory beyond the tensors: O(seqlen).
/// `threads` share the (batch, kv_head) groups; the result does not depend on their number. Throws Error if
/// the inputs do not have the problem's extents, or are not finite.
Oracle oracle(const Problem& problem, const Inputs& inputs, int threads = 1);
/// The same for some queries against some keys.
Oracle oracle(const BlockProblem& problem, const Inputs& inputs, int threads = 1);

}  // namespace ringcraft::verify
