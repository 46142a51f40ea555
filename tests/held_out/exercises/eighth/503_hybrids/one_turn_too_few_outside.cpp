// Mistake: Two mistakes. (1) Outer neighbours also stand down in the last turn but one (turn + 2 < nodes), so the blocks of the last turn never come. (2) A column lists its ranks from the own one on, around the end, so its members have different lists.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  GridGroups groups;
  for (int i = 0; i < degree; ++i) groups.row.push_back(rank / degree * degree + i);
  for (int i = 0; i < world_size / degree; ++i) groups.column.push_back((rank + i * degree) % world_size);
  return groups;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const int nodes = world_size / node, own = rank / node, place = rank % node;
  const auto at = [&](int n, int p) { return (n + nodes) % nodes * node + (p + node) % node; };
  std::vector<WalkStep> steps;
  for (int turn = 0; turn < nodes; ++turn)
    for (int inner = 0; inner < node; ++inner) {
      WalkStep step{.source = at(own - turn, place - inner)};
      if (inner < node - 1) {
        step.inner_to = at(own, place + 1);
        step.inner_from = at(own, place - 1);
      }
      if (inner == 0 && turn < nodes - 2) {
        step.outer_to = at(own + 1, place);
        step.outer_from = at(own - 1, place);
      }
      steps.push_back(step);
    }
  return steps;
}

}  // namespace ringcraft
