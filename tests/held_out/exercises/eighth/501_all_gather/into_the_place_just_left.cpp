// Mistake: A block of the next slice comes a step too late: the step that computes distance d brings distance d - 1, whose place the step before has emptied. So distance N - 1 of the next slice comes under the own block of that slice, which is begun before it is whole.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {
namespace {

GatheredBlock coming(int n, int slices, int slice, int distance) {
  // the place of the block before is free now
  if (distance == 0) return slice > 0 && n > 1 ? GatheredBlock{slice, n - 1} : GatheredBlock{};
  if (distance == 1 || slice + 1 == slices) return {};
  return {slice + 1, distance - 1};
}

}  // namespace

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> list;
  for (int d = 1; d < world_size; ++d) list.push_back({{0, d}, {}});
  for (int s = 0; s < slices; ++s)
    for (int d = 0; d < world_size; ++d) list.push_back({coming(world_size, slices, s, d), {s, d}});
  return list;
}

}  // namespace ringcraft
