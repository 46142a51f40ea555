// How far blocks travel in a double ring.
#include "ringcraft/parallel/double_ring/node_reach.hpp"

#include <mutex>
#include <optional>

namespace ringcraft {

NodeReach::NodeReach(const Problem& problem, int node) : nodes_(problem.world_size / node) {
  for (int source = 0; source < problem.world_size; ++source) {
    int outer = 0;
    for (int turn = 0; turn < nodes_; ++turn) {
      const int there = (source / node + turn) % nodes_ * node;
      int inner = node - 1;
      while (inner >= 0 && !key_ranges(problem, there + (source % node + inner) % node, source).any())
        --inner;
      inner_.push_back(inner);
      if (inner >= 0) outer = turn;
    }
    outer_.push_back(outer);
  }
}

std::shared_ptr<const NodeReach> shared_node_reach(const Problem& problem, int node) {
  struct Latest {
    Mask mask;
    Sharding sharding;
    int node;
    std::shared_ptr<const NodeReach> reach;
  };
  static std::mutex mutex;
  static std::optional<Latest> latest;
  const std::lock_guard lock(mutex);
  const Sharding sharding = problem.sharding();
  if (!latest || latest->mask != problem.mask || latest->sharding != sharding || latest->node != node)
    latest = Latest{problem.mask, sharding, node, std::make_shared<const NodeReach>(problem, node)};
  return latest->reach;
}

}  // namespace ringcraft
