// Mistake: The own block is computed in slice 0 only, since it is "always here": slices from 1 on begin at distance 1, so one block of each is never computed, and the list is a step short for each of them.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> result;
  for (int d = 1; d < world_size; d++) result.push_back({{0, d}, {}});
  result.push_back({{}, {0, 0}});  // the own block never moves
  for (int s = 0; s < slices; s++) {
    for (int d = 1; d < world_size; d++) {
      GatherStep step;
      step.computed = {s, d};
      if (s + 1 != slices) step.exchanged = {s + 1, d};
      result.push_back(step);
    }
  }
  return result;
}

}  // namespace ringcraft
