// Mistake: Two mistakes. (1) Rows and columns are exchanged: the row is every degree-th rank, the column neighbouring ranks. (2) The walk is that of one plain ring of all ranks: the block of rank - step, and inner neighbours rank + 1 and rank - 1 whatever node they are on.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  GridGroups groups;
  for (int r = rank % degree; r < world_size; r += degree) groups.row.push_back(r);
  for (int r = rank / degree * degree; r < (rank / degree + 1) * degree; ++r) groups.column.push_back(r);
  return groups;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const auto wrapped = [&](int r) { return (r + world_size) % world_size; };
  std::vector<WalkStep> steps;
  for (int step = 0; step < world_size; ++step) {
    WalkStep next;
    next.source = wrapped(rank - step);
    if ((step + 1) % node != 0) {
      next.inner_to = wrapped(rank + 1);
      next.inner_from = wrapped(rank - 1);
    }
    if (step % node == 0 && step + node < world_size) {
      next.outer_to = wrapped(rank + node);
      next.outer_from = wrapped(rank - node);
    }
    steps.push_back(next);
  }
  return steps;
}

}  // namespace ringcraft
