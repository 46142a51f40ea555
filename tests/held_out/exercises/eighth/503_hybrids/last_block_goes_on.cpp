// Mistake: The block that a rank holds at the end of a turn goes to the next node, instead of the one with which the turn began: it leaves in the last step of a turn, and the next turn begins where the last one ended, so the source of turn t is t places further. The groups are right.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  GridGroups groups;
  const int begin = rank - rank % degree;
  for (int r = begin; r < begin + degree; ++r) groups.row.push_back(r);
  for (int r = rank % degree; r < world_size; r += degree) groups.column.push_back(r);
  return groups;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const int nodes = world_size / node;
  const int mine = rank / node, place = rank % node;
  const auto at = [&](int n, int p) { return (n + nodes) % nodes * node + (p + node) % node; };
  std::vector<WalkStep> steps;
  int moved = 0;  // places that the block in our hands has moved inside of nodes
  for (int turn = 0; turn < nodes; ++turn) {
    for (int inner = 0; inner < node; ++inner) {
      WalkStep step;
      step.source = at(mine - turn, place - moved % node);
      const bool ends = inner + 1 == node;
      if (!ends) {
        step.inner_to = at(mine, place + 1);
        step.inner_from = at(mine, place - 1);
        ++moved;
      } else if (turn + 1 < nodes) {
        step.outer_to = at(mine + 1, place);
        step.outer_from = at(mine - 1, place);
      }
      steps.push_back(step);
    }
  }
  return steps;
}

}  // namespace ringcraft
