// Mistake: Neighbours stay the same in every step: inner neighbours also in the last step of a turn, when every block has been round, and outer neighbours also in the last turn. The blocks are right, and so are the groups.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  GridGroups g;
  int r0 = (rank / degree) * degree, c0 = rank % degree;
  for (int i = 0; i < degree; i++) g.row.push_back(r0 + i);
  for (int i = 0; i * degree < world_size; i++) g.column.push_back(c0 + i * degree);
  return g;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  int nodes = world_size / node;
  int base = (rank / node) * node;
  int inner_to = base + (rank + 1) % node, inner_from = base + (rank + node - 1) % node;
  int outer_to = (rank + node) % world_size, outer_from = (rank + world_size - node) % world_size;
  std::vector<WalkStep> steps;
  for (int t = 0; t < nodes; t++)
    for (int i = 0; i < node; i++) {
      WalkStep w;
      w.source = ((rank / node - t + nodes) % nodes) * node + (rank % node - i + node) % node;
      w.inner_to = inner_to;
      w.inner_from = inner_from;
      if (i == 0) {
        w.outer_to = outer_to;
        w.outer_from = outer_from;
      }
      steps.push_back(w);
    }
  return steps;
}

}  // namespace ringcraft
