// Mistake: Slices come two ahead: slices 0 and 1 are gathered in the exposed steps, distance by distance, and under slice s comes slice s + 2. So N - 1 exchanges too many are exposed, and a rank holds two whole slices and more.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include <algorithm>

#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  constexpr int kAhead = 2;  // double buffering
  std::vector<GatherStep> steps;
  for (int distance = 1; distance < world_size; ++distance)
    for (int slice = 0; slice < std::min(kAhead, slices); ++slice) steps.push_back({{slice, distance}, {}});
  for (int slice = 0; slice < slices; ++slice) {
    for (int distance = 0; distance < world_size; ++distance) {
      GatherStep step{.exchanged = {}, .computed = {slice, distance}};
      if (distance > 0 && slice + kAhead < slices) step.exchanged = {slice + kAhead, distance};
      steps.push_back(step);
    }
  }
  return steps;
}

}  // namespace ringcraft
