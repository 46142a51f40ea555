#pragma once
/// @file
/// Times all rungs of a ladder, as figures of a test program's record.

#include <map>
#include <span>
#include <string>
#include <utility>

#include "engine/rung.hpp"
#include "ringcraft/problem/mask.hpp"
#include "runner.hpp"
#include "timing/timed_step.hpp"

namespace ringcraft::kernels {

/// Figures: ms, the same with the L2 cache flushed, and TFLOP/s.
template <class Step>
Verdict time_rung(const Rung<Step>& rung, Pass pass, const StepInputs& inputs, const Mask& mask) {
  const Extents& q = inputs.q.extents();
  const KeyRanges ranges = key_ranges(mask, q.rows);
  TimedStep step(rungs_for(rung), pass, inputs, ranges, kTimedScale);
  const RunTime time = timed(step);
  const double operations = operations_of(pass, q.heads, q.width, ranges.pairs());
  return {
      "",
      {{"ms", time.hot}, {"ms with L2 flushed", time.flushed}, {"TFLOP/s", operations / (1e9 * time.hot)}}};
}

/// One check for every rung, full and causal, with head_dim 64 and 128.
template <class Step>
void time_rungs(Runner& runner, std::span<const Rung<Step>* const> rungs, Pass pass) {
  for (const Index head_dim : {64, 128}) {
    std::map<Index, StepInputs> inputs;  // by the number of tokens
    for (const Rung<Step>* rung : rungs) {
      const Index tokens = tokens_for(*rung);
      if (!inputs.contains(tokens)) inputs[tokens] = normal_inputs(timed_extents(tokens, head_dim));
      for (const auto& [name, mask] : {std::pair{"full", full_mask()}, {"causal", causal_mask()}})
        runner.check("time of " + std::to_string(rung->number) + " " + rung->name + ", " +
                         std::to_string(tokens) + " tokens, head_dim " + std::to_string(head_dim) + ", " +
                         name,
                     [&] { return time_rung(*rung, pass, inputs[tokens], mask); });
    }
  }
}

}  // namespace ringcraft::kernels
