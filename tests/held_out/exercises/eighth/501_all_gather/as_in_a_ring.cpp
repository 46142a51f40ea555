// Mistake: With one slice the steps are those of a ring: a block is computed while the one of the next distance comes, N steps in all. The first slice must come whole in N - 1 steps that compute nothing. With more slices the list is right.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> steps;
  if (slices == 1) {
    // nothing else to hide it under: overlap with itself
    for (int d = 0; d < world_size; ++d) {
      GatherStep step{{}, {0, d}};
      if (d + 1 < world_size) step.exchanged = {0, d + 1};
      steps.push_back(step);
    }
    return steps;
  }
  for (int d = 1; d < world_size; ++d) steps.push_back({{0, d}, {}});
  for (int s = 0; s < slices; ++s)
    for (int d = 0; d < world_size; ++d)
      steps.push_back({(s + 1 < slices && d > 0) ? GatheredBlock{s + 1, d} : GatheredBlock{}, {s, d}});
  return steps;
}

}  // namespace ringcraft
