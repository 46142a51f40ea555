// Mistake: Both loops over distances of what comes are one off: the exposed steps bring distances 0 to N - 1 of slice 0, and the next slice comes under its own distance, 0 included. So each rank sends its own block to itself, once in each slice, and the list is a step too long.
// Lesson 501: the schedule of an all-gather, slice by slice: a block comes into the place of one that is
// computed.
#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft {

std::vector<GatherStep> gather_steps(int world_size, int slices) {
  std::vector<GatherStep> v;
  for (int i = 0; i < world_size; i++) v.push_back({{0, i}, {}});
  for (int i = 0; i < world_size * slices; i++) {
    GatherStep st;
    st.computed = {i / world_size, i % world_size};
    int j = i + world_size;
    if (j < world_size * slices) st.exchanged = {j / world_size, j % world_size};
    v.push_back(st);
  }
  return v;
}

}  // namespace ringcraft
