// Mistake: All slices are gathered before anything is computed: N - 1 exposed steps for each slice instead of for slice 0 alone, and nothing is hidden. A rank then holds every block of every slice.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> plan;
  // gather
  for (int s = 0; s < slices; s++)
    for (int d = 1; d < world_size; d++) plan.push_back({GatheredBlock{s, d}, GatheredBlock{}});
  // attend
  for (int s = 0; s < slices; s++)
    for (int d = 0; d < world_size; d++) plan.push_back({GatheredBlock{}, GatheredBlock{s, d}});
  return plan;
}

}  // namespace ringcraft
