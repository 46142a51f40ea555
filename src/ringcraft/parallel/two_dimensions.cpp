// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  // BEGIN SOLUTION 503 [grid_groups]
  const int row = rank / degree, column = rank % degree;
  GridGroups groups;
  for (int other = 0; other < degree; ++other) groups.row.push_back(row * degree + other);
  for (int other = 0; other < world_size / degree; ++other) groups.column.push_back(other * degree + column);
  return groups;
  // END SOLUTION [grid_groups]
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  // BEGIN SOLUTION 503 [two_level_walk]
  const int nodes = world_size / node, own = rank / node, place = rank % node;
  const auto at = [&](int n, int p) { return (n + nodes) % nodes * node + (p + node) % node; };  // both wrap
  std::vector<WalkStep> steps;
  for (int turn = 0; turn < nodes; ++turn)
    for (int inner = 0; inner < node; ++inner) {
      WalkStep step{.source = at(own - turn, place - inner)};
      if (inner + 1 < node) {
        step.inner_to = at(own, place + 1);
        step.inner_from = at(own, place - 1);
      }
      if (inner == 0 && turn + 1 < nodes) {
        step.outer_to = at(own + 1, place);
        step.outer_from = at(own - 1, place);
      }
      steps.push_back(step);
    }
  return steps;
  // END SOLUTION [two_level_walk]
}

}  // namespace ringcraft
