// Mistake: In each slice the own block is computed last, after those of distance 1 to N - 1, instead of first: the distances run 1, 2, ..., N - 1, 0.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> steps;
  for (int d = 1; d < world_size; ++d) steps.push_back({{0, d}, {}});
  for (int s = 0; s < slices; ++s) {
    const bool more = s < slices - 1;
    for (int turn = 1; turn <= world_size; ++turn) {
      const int d = turn % world_size;  // the own block needs no place, so it can wait
      GatherStep step;
      step.computed = {s, d};
      if (more && d != 0) step.exchanged = {s + 1, d};
      steps.push_back(step);
    }
  }
  return steps;
}

}  // namespace ringcraft
