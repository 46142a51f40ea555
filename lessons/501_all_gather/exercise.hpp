#pragma once
/// @file
/// The exercise of this lesson: the schedule of an all-gather. And both passes of the library along it.

#include "judge/wire/exercise.hpp"
#include "ringcraft/parallel/gather/gather_passes.hpp"
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft::judge {

/// The results of a rank.
struct GatheredAttention {
  Output output;
  Gradients gradients;  ///< empty if there is no dout
  static auto fields(auto& self) { return std::tie(self.output, self.gradients); }
};

/// Attends over all ranks, `heads` KV heads at a time; with dout the backward pass follows.
inline GatheredAttention gather_attention(Communicator& comm, BlockEngine& engine, const Problem& problem,
                                          int heads, const Buffer& q, const KvBlock& kv, const Buffer& dout) {
  const HeadSlices slices(problem.shape, heads);
  GatheredAttention result{gather_forward(comm, engine, problem, slices, q, kv), {}};
  if (!dout.empty())
    result.gradients = gather_backward(comm, engine, problem, slices, q, kv, result.output, dout);
  return result;
}

using GatherSteps = Exercise<&ringcraft::gather_steps, "gather_steps">;
using GatherAttention = Exercise<&gather_attention, "gather_attention">;

}  // namespace ringcraft::judge
