// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  // BEGIN SOLUTION 501 [gather_steps]
  std::vector<GatherStep> steps;
  for (int distance = 1; distance < world_size; ++distance) steps.push_back({{0, distance}, {}});
  for (int slice = 0; slice < slices; ++slice)
    for (int distance = 0; distance < world_size; ++distance) {
      GatherStep step{{}, {slice, distance}};
      if (slice + 1 < slices && distance > 0) step.exchanged = {slice + 1, distance};
      steps.push_back(step);
    }
  return steps;
  // END SOLUTION [gather_steps]
}

}  // namespace ringcraft
