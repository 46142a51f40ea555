// Mistake: Where a node or a place falls below 0 it is wrapped by its absolute value instead of modulo: node own - turn becomes turn - own. So some blocks are computed twice and others never. Groups and neighbours are right.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include <cstdlib>

#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  GridGroups groups;
  for (int i = 0; i < degree; ++i) groups.row.push_back(rank / degree * degree + i);
  for (int i = 0; i < world_size / degree; ++i) groups.column.push_back(i * degree + rank % degree);
  return groups;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const int nodes = world_size / node;
  const int n = rank / node, p = rank % node;
  std::vector<WalkStep> steps;
  for (int turn = 0; turn < nodes; ++turn)
    for (int inner = 0; inner < node; ++inner) {
      WalkStep step;
      step.source = std::abs(n - turn) % nodes * node + std::abs(p - inner) % node;
      if (inner < node - 1) {
        step.inner_to = n * node + (p + 1) % node;
        step.inner_from = n * node + (p == 0 ? node - 1 : p - 1);
      }
      if (turn < nodes - 1 && inner == 0) {
        step.outer_to = (n + 1) % nodes * node + p;
        step.outer_from = (n == 0 ? nodes - 1 : n - 1) * node + p;
      }
      steps.push_back(step);
    }
  return steps;
}

}  // namespace ringcraft
