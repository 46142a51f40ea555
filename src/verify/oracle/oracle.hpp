#pragma once
/// @file
/// The oracle: computes the right answer, and how much rounding may move it. Plain loops in double over all
/// visible pairs, with an element-wise mask predicate of its own (no key ranges, no blocks, no merge), so
/// that it shares no idea, and no mistake, with the code it judges. It is never an exercise.

#include <functional>
#include <optional>
#include <vector>

#include "verify/oracle/rounding.hpp"
#include "verify/oracle/tensors.hpp"

namespace ringcraft::verify {

/// Whether the query at position q sees the key at position k: at most mask.left before it, at most
/// mask.right after it, in the same sequence.
bool visible(const Mask& mask, Position q, Position k);

/// Attention of some queries over some keys of one sequence, which need not be the same tokens: one shard
/// against one KV block, say. A query may see no key at all. A whole Problem is the case of all positions on
/// both sides.
struct BlockProblem {
  Index batch = 1, heads = 1, kv_heads = 1, head_dim = 0;
  Mask mask;
  std::vector<Position> queries, keys;  ///< positions, increasing
  double softmax_scale = 1.0;

  /// Query heads that share a key head.
  Index group() const { return heads / kv_heads; }
  /// Extents of q, out, dq, dout.
  Extents q_extents() const { return {batch, heads, static_cast<Index>(queries.size()), head_dim}; }
  /// Extents of k, v, dk, dv.
  Extents kv_extents() const { return {batch, kv_heads, static_cast<Index>(keys.size()), head_dim}; }
  /// Extents of lse.
  Extents row_extents() const { return {batch, heads, static_cast<Index>(queries.size()), 1}; }
};

/// All queries of a problem against all its keys.
BlockProblem whole(const Problem& problem);

/// How much larger the variance of a sum over the rows of a gradient of keys is than if its rows erred
/// independently, each as a whole; at least 1. Rows share the errors of each query that sees their keys:
/// where many keys have much the same weights, one error is that of many rows.
struct SharedErrors {
  double factor = 1;  ///< of sum z y, which a common factor is estimated from (see ErrorSums)
  double shift = 1;   ///< of sum z
};

/// Statistics that the errors of many rows share.
struct Alike {
  double factor = 0;  ///< the largest C_i: a factor up to 1 + that may be common to the numbers of all rows
  double rows = 1;    ///< query rows for each row with numbers of its own
  SharedErrors dk = {}, dv = {};  ///< the largest of all heads

  SharedErrors shared(std::string_view tensor) const {
    return tensor == "dk" ? dk : tensor == "dv" ? dv : SharedErrors{};
  }
};
/// The larger of each figure.
Alike larger(const Alike& a, const Alike& b);

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
///
/// And, if a Rounding r was given, the standard deviation of its errors, the root of these variances. With S
/// the scores, e = 2^-24 for the arithmetic in float32, n the terms of a sum, delta = dout.out, g = dP -
/// delta, t = softmax_scale, and x2 for x^2, all element by element:
///   var(S) = r.inner S2 + 4 e2 c2 + 2 r.operands t2 q2.k2
///   V = P2 var(S), as long as exp is a straight line over the error of S: if d, the root of var(S), is at
///       most 1/4. Larger errors let keys far below the largest be chosen, up to P = 1: V = min(1, var(S))
///       W2, W = min(1, P exp(6 (d - 1/4)))
///   L_i = sum of the P below e: a sum in float32 loses them, one by one, and so it is always too small
///   N_ij = keys that row i sees with the numbers of key j, or all of them if the scores of i are equal;
///   M_i = rows with the numbers of q_i, or all if all keys are equal. Equal rows are rounded alike, so
///   that N errors make one of N times the size; so do those of adding equal terms to one sum. N_i is the
///   mean of N_ij, weighted by P
///
///   C_i = L_i, or L_i + r.unit + e n/8 where scores are equal
///
///   F_i = L2 + e2 (n N_i/6 + 4 lse2), for all numbers of a row; partial results are put together by lse
///
///   R_i = sum_j N V + e2 n N_i/3 + F
///
///   w = e2/2 (of gradients: + r.sums / (2 kBlock)), a = w n/2, b = N w + 2 r.partials / n (with M: of M w),
///   and s_j for the sum up to term j
///
///   var(out_i) = sum_j { N V (v - out)2 + N P2 (r.products + r.operands + a) v2 + b s_j2 }
///       + (r.results + F) out2
///   var(lse_i) = sum_j N P2 var(S) (less r.inner S2 in var(S)) + e2 n N_i/3 + F + (8/12 2^-23 scale(lse))2
///       + r.operands t2 q2.(sum_j P k)2, as the error of q is that of all scores of its row
///       + r.exponentials (and, if r.lse: + r.lse lse2 + sum_j P2 r.inner S2)
///   var(delta_i) = r.results dout2.out2 + (r.inner + F) delta2 + 4 e2 (|dout|.|out|)2
///       + sum_j N [P2 r.products dP2 + V g2]
///   var(P) = V (1 - 2P) + P2 R_i
///   var(dS) = (r.products + 3 r.inner + r.operands) dS2
///       + P2 [r.inner dP2 + 4 e2 (|dout|.|v|)2 + (2 r.operands + r.factors) dout2.v2]; where scores are
///       rounded, the key with the largest score has the sum of it over all keys besides: autograd through
///       exp(S - max(S)) adds what they leave of sum_j dS = 0
///   var(dq_i) = sum_j { t2 N [var(dS) + V g2 + a dS2] k2 + b s_j2 } + t2 var(delta) (sum_j P k)2
///       + (R_i + r.results) dq2
///   var(dk_j) = sum_i { t2 M [var(dS) + var(P) g2 + P2 var(delta) + a dS2] q2 + b s_i2 }
///       + r.results dk2
///   var(dv_j) = sum_i { M [(r.products + r.operands + a) P2 + var(P)] dout2 + b s_i2 } + r.results dv2
/// and r.underflow for each number that it may have reached. The error of a score moves the weights of its
/// whole row: the terms with R are for that. Partial sums err by what they are, which may be far more than
/// the terms and the whole: where values drift with the position, they add up before they cancel.
///
/// Rows of a gradient of keys share errors: with g_ij = dout_i.a_j, h_ij = t q_i.b_j, G = dP - delta, x~_i
/// the mean of x_ij weighted by P, and var'(delta) without its term with V, sums over all keys have the
/// variances
///   sum_j dv_j.a_j:  sum_ij N V (g_ij - g~_i)2 + sum_i F g~_i2
///   sum_j dk_j.b_j:  sum_ij N V (G (h_ij - h~_i) - (G h)~_i)2 + sum_i { F (G h)~_i2 + var'(delta) h~_i2 }
/// and SharedErrors divides them, for a, b = value / deviation2 and 1 / deviation, by those of independent
/// rows.
struct Oracle {
  Answer value, scale;
  Answer deviation = {};  ///< float64; all tensors empty without a Rounding
  Alike alike = {};       ///< correlations of errors beyond that
};

/// Options of the oracle.
struct OracleOptions {
  int threads = 1;                            ///< share the (batch, kv_head) groups; they change no number
  std::optional<Rounding> rounding = {};      ///< compute its standard deviations, too
  std::function<void(double)> progress = {};  ///< called from one thread, with the share done
};

/// The right answer to a problem, for inputs of any number type. Memory beyond the tensors: O(seqlen). Throws
/// Error if the inputs do not have the problem's extents, or are not finite.
Oracle oracle(const Problem& problem, const Inputs& inputs, const OracleOptions& options = {});
/// The same for some queries against some keys.
Oracle oracle(const BlockProblem& problem, const Inputs& inputs, const OracleOptions& options = {});

}  // namespace ringcraft::verify
