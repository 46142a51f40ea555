// Mistake: The next slice comes from the farthest distance to the nearest, one under each block from the own one on: N - 1 under distance 0, 1 under distance N - 2. The order is free, but under the own block no place is free yet, so a rank holds N + 2 blocks.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> steps;
  for (int d = world_size - 1; d > 0; --d) steps.push_back({{0, d}, {}});
  for (int s = 0; s < slices; ++s) {
    for (int d = 0; d < world_size; ++d) {
      const int comes = world_size - 1 - d;
      if (s + 1 < slices && comes > 0)
        steps.push_back({{s + 1, comes}, {s, d}});
      else
        steps.push_back({{}, {s, d}});
    }
  }
  return steps;
}

}  // namespace ringcraft
