#pragma once
/// @file
/// The walk of KV blocks in two levels: around the ranks of a node over fast links, and meanwhile one node on
/// over the slow ones.

#include <tuple>
#include <vector>

namespace ringcraft {

/// One step of a rank. A neighbour of -1 says that nothing goes there.
struct WalkStep {
  int source = 0;       ///< the rank whose block is computed
  int inner_to = -1;    ///< rank of the node that gets this block for its next step
  int inner_from = -1;  ///< and the one that the block of the next step comes from
  int outer_to = -1;    ///< rank of the next node that gets this block for its next turn,
  int outer_from = -1;  ///< and the one of the node before that the block of the next turn comes from

  static auto fields(auto& self) {
    return std::tie(self.source, self.inner_to, self.inner_from, self.outer_to, self.outer_from);
  }
  friend bool operator==(const WalkStep&, const WalkStep&) = default;
};

/// [N]: the steps of rank `rank`, where `node` neighbours make up a node; it divides world_size. Rank r stands
/// at place r mod node of node r / node. The first `node` steps are a turn around the own node with the blocks
/// of its ranks: before each step but the first of a turn, every block moves on to the next place, from the
/// last one to place 0. Before the next turn the block with which the turn began moves on to the same place of
/// the next node, from the last one to node 0; it leaves in the first step of the turn, so that it has the
/// whole turn to get there. Each block visits every rank once. (Lesson 503.)
std::vector<WalkStep> two_level_walk(int world_size, int node, int rank);

}  // namespace ringcraft
