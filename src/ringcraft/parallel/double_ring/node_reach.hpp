#pragma once
/// @file
/// NodeReach: how far each KV block has to travel in a double ring, inside of every node and from node to
/// node. All ranks compute the same numbers; messages beyond them are empty.

#include <memory>
#include <vector>

#include "ringcraft/problem/problem.hpp"

namespace ringcraft {

/// The reaches of all blocks of a problem over nodes of `node` neighbours.
class NodeReach {
 public:
  /// `node` divides the ranks.
  NodeReach(const Problem& problem, int node);

  /// The last place of the walk around the node `turn` nodes on, counted from the place of the block, that
  /// sees one of its keys; -1 if none does.
  int inner(int source, int turn) const { return inner_[static_cast<std::size_t>(source * nodes_ + turn)]; }
  /// The last turn in which a node sees one of its keys; 0 if there is none.
  int outer(int source) const { return outer_[static_cast<std::size_t>(source)]; }

 private:
  int nodes_;
  std::vector<int> inner_, outer_;
};

/// The same, computed once for all ranks of a process that ask in turn.
std::shared_ptr<const NodeReach> shared_node_reach(const Problem& problem, int node);

}  // namespace ringcraft
