// Mistake: A column is given degree members, as a row has, instead of world_size / degree: too many or too few wherever the grid is no square. The walk is right.
// Lesson 503: ranks in two dimensions. The rows and columns of a hybrid, and the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  const int row = rank / degree, column = rank % degree;
  GridGroups groups;
  for (int i = 0; i < degree; ++i) {
    groups.row.push_back(row * degree + i);
    groups.column.push_back(i * degree + column);
  }
  return groups;
}

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  const int nodes = world_size / node;
  const int k = rank / node, p = rank % node;
  const auto wrap = [](int i, int n) { return ((i % n) + n) % n; };
  const auto at = [&](int a, int b) { return wrap(a, nodes) * node + wrap(b, node); };
  std::vector<WalkStep> steps;
  for (int turn = 0; turn < nodes; ++turn)
    for (int inner = 0; inner < node; ++inner) {
      WalkStep s;
      s.source = at(k - turn, p - inner);
      if (inner < node - 1) s.inner_to = at(k, p + 1), s.inner_from = at(k, p - 1);
      if (inner == 0 && turn < nodes - 1) s.outer_to = at(k + 1, p), s.outer_from = at(k - 1, p);
      steps.push_back(s);
    }
  return steps;
}

}  // namespace ringcraft
