// Mistake: The slice after the last one is taken to be the first: the next slice is (slice + 1) mod slices, so under the last slice, and with one slice under that, the blocks of slice 0 come a second time.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> steps;
  for (int d = 1; d < world_size; ++d) steps.push_back(GatherStep{{0, d}, {}});
  for (int s = 0; s < slices; ++s) {
    int next = (s + 1) % slices;
    steps.push_back(GatherStep{{}, {s, 0}});
    for (int d = 1; d < world_size; ++d) steps.push_back(GatherStep{{next, d}, {s, d}});
  }
  return steps;
}

}  // namespace ringcraft
