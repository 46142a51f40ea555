// Mistake: The loops are exchanged: for each distance all slices are computed one after the other, instead of for each slice all distances. A slice is begun before it has come, and no slice is done before the next begins.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include <cstddef>

#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  const auto n = static_cast<std::size_t>(world_size);
  std::vector<GatherStep> steps(n - 1);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].exchanged = {0, static_cast<int>(i) + 1};

  for (int distance = 0; distance < world_size; ++distance) {
    for (int slice = 0; slice < slices; ++slice) {
      GatherStep& step = steps.emplace_back();
      step.computed.slice = slice;
      step.computed.distance = distance;
      if (distance == 0 || slice + 1 == slices) continue;
      step.exchanged.slice = slice + 1;
      step.exchanged.distance = distance;
    }
  }
  return steps;
}

}  // namespace ringcraft
