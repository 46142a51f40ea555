#pragma once
/// @file
/// Dense attention in its most obvious form: plain loops in one number type, each sum from left to right.
/// Tests compare with it, and the gradient checks of lesson 206 take lse from it, as a forward pass in
/// float32 leaves it.

#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {

/// Attention and, if the inputs have dout, its gradients in T (float or double), with the oracle's mask. The
/// inputs are of type T. Throws Error for inputs of other extents or another number type.
template <class T>
Answer plain_dense(const BlockProblem& problem, const Inputs& inputs);
/// The same for a whole problem.
template <class T>
Answer plain_dense(const Problem& problem, const Inputs& inputs) {
  return plain_dense<T>(whole(problem), inputs);
}

}  // namespace ringcraft::verify
