#pragma once
/// @file
/// Softmax of one row of scores, two ways. Safe softmax (lesson 102) scans three times: maximum, sum,
/// division. Online softmax (lesson 103) finds maximum and sum in one scan, and needs a second one to write
/// the weights; only when the weights are used at once (fused with V, see blockwise.hpp) is one scan enough.
/// A score of -inf has weight exactly 0; a row of nothing but -inf has all weights 0.

#include <limits>
#include <span>
#include <tuple>

namespace ringcraft {

/// Maximum m of the scores seen so far and the sum l of exp(score - m).
template <class T>
struct SoftmaxState {
  T max = -std::numeric_limits<T>::infinity();  ///< m
  T sum = 0;                                    ///< l

  static auto fields(auto& self) { return std::tie(self.max, self.sum); }
};

/// weights[j] = exp(scores[j] - m) / l in three scans. Both spans have one length; they may be the same
/// memory.
template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights);

/// m and l of the scores in one scan, continuing from `state`: whenever a score exceeds the maximum so far,
/// the sum is rescaled by exp(old maximum - new maximum).
template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state = {});

/// weights[j] = exp(scores[j] - m) / l in two scans.
template <class T>
void online_softmax(std::span<const T> scores, std::span<T> weights);

/// (m, l) of the union of two disjoint sets of scores. Commutative, with the identity (-inf, 0).
template <class T>
SoftmaxState<T> merged(SoftmaxState<T> a, SoftmaxState<T> b);

}  // namespace ringcraft
