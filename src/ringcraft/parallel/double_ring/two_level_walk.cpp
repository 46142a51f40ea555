// Lesson 503: the walk of a double ring.
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft {

std::vector<WalkStep> two_level_walk(int world_size, int node, int rank) {
  // BEGIN SOLUTION 503 [two_level_walk]
  const int nodes = world_size / node, own_node = rank / node, place = rank % node;
  const auto at = [&](int n, int p) {  // both modulo their number
    return (n + nodes) % nodes * node + (p + node) % node;
  };
  std::vector<WalkStep> steps;
  for (int turn = 0; turn < nodes; ++turn)
    for (int inner = 0; inner < node; ++inner) {
      WalkStep step{at(own_node - turn, place - inner)};
      if (inner + 1 < node) {
        step.inner_to = at(own_node, place + 1);
        step.inner_from = at(own_node, place - 1);
      }
      if (inner == 0 && turn + 1 < nodes) {
        step.outer_to = at(own_node + 1, place);
        step.outer_from = at(own_node - 1, place);
      }
      steps.push_back(step);
    }
  return steps;
  // END SOLUTION [two_level_walk]
}

}  // namespace ringcraft
