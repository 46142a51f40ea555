// Mistake: Each block of a next slice comes in a step of its own, in front of the step that computes: exchange and computation never share a step, so every exchange is exposed and the list is longer. The number of blocks held is no larger.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> steps;
  const auto exchange = [&](int slice, int distance) { steps.push_back({{slice, distance}, {}}); };
  const auto compute = [&](int slice, int distance) { steps.push_back({{}, {slice, distance}}); };
  for (int d = 1; d < world_size; ++d) exchange(0, d);
  for (int s = 0; s < slices; ++s)
    for (int d = 0; d < world_size; ++d) {
      if (d > 0 && s + 1 < slices) exchange(s + 1, d);
      compute(s, d);
    }
  return steps;
}

}  // namespace ringcraft
