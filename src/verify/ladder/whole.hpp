#pragma once
/// @file
/// Converts the harness's tensors to the inputs of a library run, and its result back.

#include <utility>

#include "ringcraft/parallel/run.hpp"
#include "verify/oracle/tensors.hpp"

namespace ringcraft::verify {

/// The inputs of a run; `inputs` must outlive it.
inline WholeInputs whole(const Inputs& inputs) { return {inputs.q, inputs.k, inputs.v, inputs.dout}; }

/// The result that a run gives rank 0, as an Answer.
inline Answer answer_of(WholeResult result) {
  auto& [output, gradients] = result;
  return {std::move(output.out), std::move(output.lse), std::move(gradients.dq), std::move(gradients.dkv.k),
          std::move(gradients.dkv.v)};
}

}  // namespace ringcraft::verify
