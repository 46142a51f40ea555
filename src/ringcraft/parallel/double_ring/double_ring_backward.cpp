// The backward pass of a double ring: sums of gradients walk around the node with their blocks, and from node
// to node one turn later.
#include <utility>

#include "ringcraft/parallel/double_ring/double_ring.hpp"
#include "ringcraft/parallel/double_ring/node_walk.hpp"
#include "ringcraft/parallel/double_ring/walking_blocks.hpp"

namespace ringcraft {
namespace {

// The sums of dk and dv that a rank holds, and their messages.
class WalkingSums {
 public:
  WalkingSums(Communicator& comm, BlockEngine& engine, const Problem& problem, const NodeWalk& walk)
      : comm_(comm), engine_(engine), walk_(walk), sharding_(problem.sharding()) {
    const auto make = [&](KvBlock& block) { block = allocate_kv(engine, problem, Role::kAccumulator); };
    for (KvBlock* block : {&part_, &sum_, &node_, &total_}) make(*block);
    if (walk.inner_steps() > 1) make(arriving_);
    if (walk.turns() > 1) make(arriving_total_);
    if (walk.turns() > 1) make(home_);
  }

  // Where a step writes its share of the gradients.
  KvBlock& part(Index rows) {
    part_.set_rows(rows);
    return part_;
  }

  // After a step's computation: its share joins the sum that walks with its block.
  void add(int turn, int inner) {
    inner_messages_.wait();
    if (inner == 0 && turn > 0) finish_turn(turn - 1);
    if (!walk_.here(turn, inner)) return;
    if (inner > 0) engine_.add(arriving_, part_);
    std::swap(sum_, inner == 0 ? part_ : arriving_);
    if (inner == 0 && walk_.node_sum_is_own(turn)) std::swap(node_, sum_);
  }
  // The sum goes on, or back to where its block came in.
  void send(int turn, int inner) {
    const bool last = inner + 1 == walk_.inner_steps();
    const WalkStep& step = walk_.step(turn, inner);
    if (!last) arriving_.set_rows(walk_.rows(turn, inner + 1));
    if (walk_.sum_returns(turn, inner)) node_.set_rows(sharding_.rows(walk_.entry(turn)));
    const KvBlock& leaving = walk_.sum_leaves(turn, inner) ? sum_ : nothing_;
    KvBlock none;
    KvBlock &coming = last ? none : arriving_, &returning = walk_.sum_returns(turn, inner) ? node_ : none;
    if (walk_.inner_steps() == 1) return;
    const int to = walk_.sum_leaves(turn, inner) ? walk_.sum_to(turn, inner) : neighbour();
    const int from = last ? neighbour() : step.inner_from;
    const int back = walk_.sum_returns(turn, inner) ? walk_.sum_returns_from(inner) : neighbour();
    inner_messages_ = comm_.start({send_to(to, leaving.k), send_to(to, leaving.v),        //
                                   recv_from(from, coming.k), recv_from(from, coming.v),  //
                                   recv_from(back, returning.k), recv_from(back, returning.v)});
  }
  // After the last step: the sum of the own block.
  KvBlock complete() {
    inner_messages_.wait();
    finish_turn(walk_.turns() - 1);
    outer_messages_.wait();
    return std::move(walk_.turns() > 1 ? home_ : total_);
  }

 private:
  // Any other rank: the peer of messages that are empty.
  int neighbour() const { return (comm_.rank() + 1) % comm_.world_size(); }

  // The node's sum of the block that came in with this turn joins that of the nodes before, and goes on.
  void finish_turn(int turn) {
    outer_messages_.wait();
    if (turn > 0 && walk_.total_here(turn)) {
      if (walk_.node_has_share(turn)) engine_.add(arriving_total_, node_);
      std::swap(total_, arriving_total_);
    } else if (turn == 0) {
      std::swap(total_, node_);
      if (!walk_.node_has_share(0)) total_.set_rows(0);  // no rows, no gradients
    }
    if (walk_.turns() == 1) return;
    if (turn == 0 && walk_.last_turn() == 0) std::swap(home_, total_);
    const bool returns = turn > 0 && turn == walk_.last_turn();
    if (returns) home_.set_rows(sharding_.rows(comm_.rank()));
    const bool last = turn + 1 == walk_.turns();
    if (!last) arriving_total_.set_rows(walk_.entry_rows(turn + 1));
    KvBlock none;
    const KvBlock& leaving = walk_.total_leaves(turn) ? total_ : nothing_;
    KvBlock &coming = last ? none : arriving_total_, &returning = returns ? home_ : none;
    const int to = walk_.total_leaves(turn) ? walk_.total_to(turn) : neighbour();
    const int from = last ? neighbour() : walk_.step(turn, 0).outer_from;
    const int back = returns ? walk_.total_returns_from(turn) : neighbour();
    outer_messages_ = comm_.start({send_to(to, leaving.k), send_to(to, leaving.v),        //
                                   recv_from(from, coming.k), recv_from(from, coming.v),  //
                                   recv_from(back, returning.k), recv_from(back, returning.v)});
  }

  Communicator& comm_;
  BlockEngine& engine_;
  const NodeWalk& walk_;
  Sharding sharding_;
  const KvBlock nothing_{};
  KvBlock part_;                           // this step's share
  KvBlock sum_, arriving_;                 // around the node: the sum of the step's block, and the next one's
  KvBlock node_;                           // of the block that came in here: what the node's ranks add
  KvBlock total_, arriving_total_, home_;  // from node to node: that sum, the next one's, the own one
  Pending inner_messages_, outer_messages_;  // declared last: they wait before the buffers go
};

}  // namespace

Gradients double_ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem, int node,
                               const Buffer& q, const KvBlock& kv, const Output& output, const Buffer& dout) {
  const int rank = comm.rank();
  const NodeWalk walk(problem, node, rank);
  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);
  WalkingBlocks blocks(comm, engine, problem, walk, kv);
  WalkingSums sums(comm, engine, problem, walk);
  for (int turn = 0; turn < walk.turns(); ++turn) {
    Pending outer = blocks.start_outer(turn);
    for (int inner = 0; inner < walk.inner_steps(); ++inner) {
      Pending exchange = blocks.start_inner(turn, inner);
      if (walk.here(turn, inner)) {
        const int source = walk.step(turn, inner).source;
        engine.backward(dq, sums.part(walk.rows(turn, inner)), saved, blocks.current(),
                        key_ranges(problem, rank, source), problem.softmax_scale);
      }
      sums.add(turn, inner);
      exchange.wait();
      blocks.step_on(inner);
      sums.send(turn, inner);
    }
    outer.wait();
    blocks.turn_on(turn);
  }
  return {std::move(dq), sums.complete()};
}

}  // namespace ringcraft
