#pragma once
/// @file
/// NodeWalk: the blocks and sums that one rank of a double ring meets, step by step. Shared by
/// both passes and their theory.

#include <memory>

#include "ringcraft/parallel/double_ring/node_reach.hpp"
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"

namespace ringcraft {

/// One rank's walk. Steps are counted from 0 to N - 1; a turn has `node` of them.
class NodeWalk {
 public:
  NodeWalk(const Problem& problem, int node, int rank)
      : reach_(shared_node_reach(problem, node)),
        steps_(two_level_walk(problem.world_size, node, rank)),
        sharding_(problem.sharding()),
        node_(node),
        nodes_(problem.world_size / node),
        rank_(rank) {}

  int turns() const { return nodes_; }
  int inner_steps() const { return node_; }
  const WalkStep& step(int turn, int inner) const {
    return steps_[static_cast<std::size_t>(turn * node_ + inner)];
  }
  /// The rank whose block comes into the node at this rank in this turn.
  int entry(int turn) const { return step(turn, 0).source; }

  // ---- blocks

  /// Whether this rank or one further along its node needs the block of a step.
  bool here(int turn, int inner) const { return inner <= reach_->inner(step(turn, inner).source, turn); }
  /// Whether it goes on inside of the node.
  bool goes_on(int turn, int inner) const { return inner < reach_->inner(step(turn, inner).source, turn); }
  /// Whether the block that came in with this turn goes on to the next node.
  bool leaves(int turn) const { return turn < reach_->outer(entry(turn)); }
  /// Rows of the block of a step, 0 if it does not come.
  Index rows(int turn, int inner) const {
    return here(turn, inner) ? sharding_.rows(step(turn, inner).source) : 0;
  }
  /// Rows of the block that comes in with a turn, 0 if no rank of this or a later node needs it.
  Index entry_rows(int turn) const {
    return turn <= reach_->outer(entry(turn)) ? sharding_.rows(entry(turn)) : 0;
  }

  // ---- sums of gradients inside of the node

  /// Whether the sum goes on or home after this step; it stays if nobody else in the node has a share.
  bool sum_leaves(int turn, int inner) const {
    return here(turn, inner) && (inner > 0 || goes_on(turn, inner));
  }
  /// Where it goes: along with its block, or from the last rank that needs that to the one where it came in.
  int sum_to(int turn, int inner) const {
    const int entered = rank_ / node_ * node_ + step(turn, inner).source % node_;
    return goes_on(turn, inner) ? step(turn, inner).inner_to : entered;
  }
  /// Whether the sum of the block that came in here comes back after this step, and from where.
  bool sum_returns(int turn, int inner) const { return inner > 0 && inner == reach_->inner(entry(turn), turn); }
  int sum_returns_from(int inner) const { return rank_ / node_ * node_ + (rank_ % node_ + inner) % node_; }
  /// Whether the node has a share in the gradients of the block that came in here.
  bool node_has_share(int turn) const { return reach_->inner(entry(turn), turn) >= 0; }
  /// Whether that is this rank's alone.
  bool node_sum_is_own(int turn) const { return reach_->inner(entry(turn), turn) == 0; }

  // ---- sums from node to node

  /// Whether the sum of the block that came in with this turn is here.
  bool total_here(int turn) const { return turn <= reach_->outer(entry(turn)); }
  /// Whether it leaves after this turn, and where it goes: along, or home from the last node.
  bool total_leaves(int turn) const { return total_here(turn) && (turn > 0 || leaves(turn)); }
  int total_to(int turn) const { return leaves(turn) ? step(turn, 0).outer_to : entry(turn); }
  /// The last turn of the own block; after it the sum comes home, from another node unless it is turn 0.
  int last_turn() const { return reach_->outer(rank_); }
  int total_returns_from(int turn) const {
    return (rank_ / node_ + turn) % nodes_ * node_ + rank_ % node_;
  }

 private:
  std::shared_ptr<const NodeReach> reach_;
  std::vector<WalkStep> steps_;
  Sharding sharding_;
  int node_, nodes_, rank_;
};

}  // namespace ringcraft
