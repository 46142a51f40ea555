#pragma once
/// @file
/// The exercise of this lesson: how far around the ring each KV block is needed. Its steps are counted.

#include "judge/wire/exercise.hpp"
#include "judge/worker/steps.hpp"
#include "ringcraft/problem/reach.hpp"

namespace ringcraft::judge {

/// The reaches of one problem, and the steps that they took.
struct CountedReaches {
  std::vector<int> reaches;
  std::int64_t steps = 0;
  static auto fields(auto& self) { return std::tie(self.reaches, self.steps); }
};

/// Calls reaches once.
inline CountedReaches counted_reaches(const Problem& problem) {
  CountedReaches counted;
  counted.steps = steps_of([&] { counted.reaches = reaches(problem); });
  return counted;
}

using Reaches = Exercise<&counted_reaches, "reaches">;

}  // namespace ringcraft::judge
