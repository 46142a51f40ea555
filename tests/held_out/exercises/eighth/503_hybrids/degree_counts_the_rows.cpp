// Mistake: degree is taken for the number of rows instead of the ranks of a row: world_size / degree neighbouring ranks make a row, and a column has degree members. The walk is right.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  const int width = world_size / degree;
  GridGroups g;
  for (int r = 0; r < world_size; ++r) {
    if (r / width == rank / width) g.row.push_back(r);
    if (r % width == rank % width) g.column.push_back(r);
  }
  return g;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const int nodes = world_size / node, home = rank / node * node, place = rank % node;
  std::vector<WalkStep> walk(static_cast<std::size_t>(world_size));
  for (int i = 0; i < world_size; ++i) {
    WalkStep& step = walk[static_cast<std::size_t>(i)];
    const int turn = i / node, inner = i % node;
    step.source = (home - turn * node + world_size) % world_size + (place - inner + node) % node;
    if (inner != node - 1) {
      step.inner_to = home + (place + 1) % node;
      step.inner_from = home + (place + node - 1) % node;
    }
    if (inner == 0 && turn != nodes - 1) {
      step.outer_to = (rank + node) % world_size;
      step.outer_from = (rank - node + world_size) % world_size;
    }
  }
  return walk;
}

}  // namespace ringcraft
