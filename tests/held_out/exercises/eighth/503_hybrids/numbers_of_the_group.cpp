// Mistake: Neighbours are given by their number in the group and not by their rank in the world: inner neighbours are places, outer neighbours are nodes. The blocks are those of the right ranks, and so are the groups.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  const int first = rank / degree * degree;
  GridGroups both;
  for (int m = 0; m < degree; ++m) both.row.push_back(first + m);
  for (int m = 0; m < world_size / degree; ++m) both.column.push_back(rank % degree + degree * m);
  return both;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const int nodes = world_size / node;
  const int own_node = rank / node, own_place = rank % node;
  std::vector<WalkStep> steps;
  steps.reserve(static_cast<std::size_t>(world_size));
  for (int turn = 0; turn < nodes; ++turn) {
    for (int inner = 0; inner < node; ++inner) {
      const int from_node = (own_node - turn + nodes) % nodes, from_place = (own_place - inner + node) % node;
      WalkStep step{.source = from_node * node + from_place};
      if (inner + 1 < node) {
        step.inner_to = (own_place + 1) % node;
        step.inner_from = (own_place - 1 + node) % node;
      }
      if (inner == 0 && turn + 1 < nodes) {
        step.outer_to = (own_node + 1) % nodes;
        step.outer_from = (own_node - 1 + nodes) % nodes;
      }
      steps.push_back(step);
    }
  }
  return steps;
}

}  // namespace ringcraft
