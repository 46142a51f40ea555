#pragma once
/// @file
/// The KV blocks that a rank of a double ring holds: its own, two that walk around the node, two that walk
/// from node to node.

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/parallel/double_ring/node_walk.hpp"
#include "ringcraft/ring/refuse.hpp"

namespace ringcraft {

/// Moves blocks along a walk. The own block is read, never received into.
class WalkingBlocks {
 public:
  /// All arguments outlive it.
  WalkingBlocks(Communicator& comm, BlockEngine& engine, const Problem& problem, const NodeWalk& walk,
                const KvBlock& own)
      : comm_(comm), engine_(engine), problem_(problem), walk_(walk), current_(&own) {}

  /// The block of this step.
  const KvBlock& current() const { return *current_; }

  /// At the beginning of a turn: the block that came in goes on to the next node, if there is another turn.
  Pending start_outer(int turn) {
    if (turn + 1 == walk_.turns()) return {};
    return exchanged(outer_[turn % 2], turn < 2, walk_.leaves(turn), walk_.step(turn, 0).outer_to,
                     walk_.step(turn, 0).outer_from, walk_.entry_rows(turn + 1));
  }
  /// At the beginning of a step: its block goes on inside of the node, if there is another step.
  Pending start_inner(int turn, int inner) {
    if (inner + 1 == walk_.inner_steps()) return {};
    const WalkStep& step = walk_.step(turn, inner);
    return exchanged(inner_[inner % 2], turn == 0 && inner < 2, walk_.goes_on(turn, inner), step.inner_to,
                     step.inner_from, walk_.rows(turn, inner + 1));
  }
  /// After the wait for a step's exchange: the block of the next step is current, if there is one in this
  /// turn.
  void step_on(int inner) {
    if (inner + 1 < walk_.inner_steps()) current_ = &inner_[inner % 2];
  }
  /// After the wait for a turn's exchange: the block of the next turn is current, if there is one.
  void turn_on(int turn) {
    if (turn + 1 < walk_.turns()) current_ = &outer_[turn % 2];
  }

 private:
  Pending exchanged(KvBlock& arriving, bool first_use, bool leaves, int to, int from, Index rows) {
    if (first_use) arriving = allocate_kv(engine_, problem_, Role::kElement);
    arriving.set_rows(rows);
    const KvBlock& leaving = leaves ? *current_ : nothing_;
    return comm_.start({send_to(to, leaving.k), send_to(to, leaving.v),  //
                        recv_from(from, arriving.k), recv_from(from, arriving.v)});
  }

  Communicator& comm_;
  BlockEngine& engine_;
  const Problem& problem_;
  const NodeWalk& walk_;
  const KvBlock nothing_{};
  KvBlock inner_[2], outer_[2];
  const KvBlock* current_;
};

}  // namespace ringcraft
