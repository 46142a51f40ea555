// Mistake: Two mistakes. (1) engine.backward gets 1 / sqrt(head_dim) instead of problem.softmax_scale, so all gradients are wrong where the problem has a scale of its own. (2) In schedule forward the message home is received v first while it is sent k first, so a rank returns its dk as dv and its dv as dk whenever there was at least one hop.
// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step behind it: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives.
#include <cmath>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout) {
  refuse(problem, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, own, schedule, output, dout);
  const int ranks = comm.world_size(), me = comm.rank(), walks = hops(problem);
  const bool forward = schedule == Schedule::kForward;
  const double scale = 1.0 / std::sqrt(static_cast<double>(problem.shape.head_dim));
  const Sharding shards = problem.sharding();
  const auto rank_of = [ranks](int r) { return (r + 2 * ranks) % ranks; };
  const int to = rank_of(forward ? me + 1 : me - 1);
  const int from = rank_of(forward ? me - 1 : me + 1);
  int holding = forward ? me : rank_of(me - walks);
  const auto before = [&](int owner) { return rank_of(forward ? owner - 1 : owner + 1); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(me), Role::kAccumulator);
  engine.set_zero(dq);

  KvBlock blocks[2], mine, total, inbound;
  const KvBlock* current = &first;
  Pending block_move, total_move;
  for (int left = walks, step = 0; left >= 0; --left, ++step) {
    const int upcoming = before(holding);
    KvBlock& inbox = blocks[step % 2];
    if (left > 0) {
      if (step < 2) inbox = allocate_kv(engine, problem, Role::kElement);
      inbox.set_rows(shards.rows(upcoming));
      block_move = comm.start({send_to(to, current->k), send_to(to, current->v), recv_from(from, inbox.k),
                               recv_from(from, inbox.v)});
    }
    if (mine.k.extents() == Extents{}) mine = allocate_kv(engine, problem, Role::kAccumulator);
    mine.set_rows(shards.rows(holding));
    engine.backward(dq, mine, saved, *current, key_ranges(problem, me, holding), scale);
    total_move.wait();
    if (step == 0) {
      std::swap(total, mine);
    } else {
      engine.add(inbound, mine);
      std::swap(total, inbound);
    }
    block_move.wait();
    if (left == 0) break;
    current = &inbox;
    holding = upcoming;
    if (inbound.k.extents() == Extents{}) inbound = allocate_kv(engine, problem, Role::kAccumulator);
    inbound.set_rows(shards.rows(holding));
    total_move = comm.start({send_to(to, total.k), send_to(to, total.v), recv_from(from, inbound.k),
                             recv_from(from, inbound.v)});
  }
  if (!forward || walks == 0) return {std::move(dq), std::move(total)};

  inbound.set_rows(shards.rows(me));
  const int owner = rank_of(me - walks), holder = rank_of(me + walks);
  comm.start({send_to(owner, total.k), send_to(owner, total.v), recv_from(holder, inbound.v),
              recv_from(holder, inbound.k)})
      .wait();
  return {std::move(dq), std::move(inbound)};
}

}  // namespace ringcraft
