// Mistake: The loops are exchanged: for each place the block goes round all nodes, instead of for each node round all places, with the slow links in every step but the last of nodes, and the fast ones in the first. The groups are right.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  GridGroups groups;
  for (int other = 0; other < world_size; ++other) {
    if (other / degree == rank / degree) groups.row.push_back(other);
    if (other % degree == rank % degree) groups.column.push_back(other);
  }
  return groups;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const int nodes = world_size / node, own = rank / node, place = rank % node;
  const auto at = [&](int n, int p) { return (n + nodes) % nodes * node + (p + node) % node; };
  std::vector<WalkStep> steps;
  for (int i = 0; i < node; ++i)
    for (int j = 0; j < nodes; ++j) {
      WalkStep step{.source = at(own - j, place - i)};
      if (j + 1 < nodes) {
        step.outer_to = at(own + 1, place);
        step.outer_from = at(own - 1, place);
      }
      if (j == 0 && i + 1 < node) {
        step.inner_to = at(own, place + 1);
        step.inner_from = at(own, place - 1);
      }
      steps.push_back(step);
    }
  return steps;
}

}  // namespace ringcraft
