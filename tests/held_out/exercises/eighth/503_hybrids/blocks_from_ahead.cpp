// Mistake: The block of a step is taken from the other side inside of the node, that of place + inner, while blocks are still sent to place + 1 and received from place - 1. From node to node, and in the groups, all is right.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  const int y = rank / degree, x = rank % degree;
  GridGroups groups{std::vector<int>(static_cast<std::size_t>(degree)),
                    std::vector<int>(static_cast<std::size_t>(world_size / degree))};
  int next = y * degree;
  for (int& r : groups.row) r = next++;
  next = x;
  for (int& r : groups.column) {
    r = next;
    next += degree;
  }
  return groups;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const int nodes = world_size / node, y = rank / node, x = rank % node;
  const auto rank_of = [&](int ny, int nx) { return (ny + nodes) % nodes * node + (nx + node) % node; };
  std::vector<WalkStep> steps;
  for (int turn = 0; turn < nodes; ++turn)
    for (int inner = 0; inner < node; ++inner) {
      WalkStep step;
      step.source = rank_of(y - turn, x + inner);
      if (inner + 1 != node) {
        step.inner_to = rank_of(y, x + 1);
        step.inner_from = rank_of(y, x - 1);
      }
      if (inner == 0 && turn + 1 != nodes) {
        step.outer_to = rank_of(y + 1, x);
        step.outer_from = rank_of(y - 1, x);
      }
      steps.push_back(step);
    }
  return steps;
}

}  // namespace ringcraft
