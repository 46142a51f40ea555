// Mistake: the arrived sum of dk and dv is passed to engine.backward as its part, as if the engine added to it (it overwrites it), so the shares of all earlier visitors are lost and an owner's dk, dv contain the share of the last visited rank only; dq is right.
// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step behind it: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives.
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
  const bool along = schedule == Schedule::kForward;
  const int n = comm.world_size(), rank = comm.rank(), last_step = hops(problem);
  const Sharding sharding = problem.sharding();
  const auto ring = [n](int r) { return ((r % n) + n) % n; };
  const int to = along ? ring(rank + 1) : ring(rank - 1), from = along ? ring(rank - 1) : ring(rank + 1);
  const auto owner = [&](int step) { return along ? ring(rank - step) : ring(rank - last_step + step); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);

  KvBlock blocks[2];
  for (int i = 0; i < 2 && i < last_step; ++i) blocks[i] = allocate_kv(engine, problem, Role::kElement);
  KvBlock sum = allocate_kv(engine, problem, Role::kAccumulator), coming;
  if (last_step > 0) coming = allocate_kv(engine, problem, Role::kAccumulator);

  const KvBlock* block = &first;
  Pending moving_sums;
  for (int step = 0; step <= last_step; ++step) {
    Pending moving_blocks;
    if (step < last_step) {
      KvBlock& target = blocks[step % 2];
      target.set_rows(sharding.rows(owner(step + 1)));
      moving_blocks = comm.start({send_to(to, block->k), send_to(to, block->v), recv_from(from, target.k),
                                  recv_from(from, target.v)});
    }
    if (step == 0) {
      sum.set_rows(sharding.rows(owner(0)));
    } else {
      moving_sums.wait();
      std::swap(sum, coming);
    }
    engine.backward(dq, sum, saved, *block, key_ranges(problem, rank, owner(step)), problem.softmax_scale);
    moving_blocks.wait();
    if (step < last_step) {
      block = &blocks[step % 2];
      coming.set_rows(sharding.rows(owner(step + 1)));
      moving_sums = comm.start(
          {send_to(to, sum.k), send_to(to, sum.v), recv_from(from, coming.k), recv_from(from, coming.v)});
    }
  }

  if (along && last_step > 0) {
    const int home = ring(rank - last_step), far = ring(rank + last_step);
    coming.set_rows(sharding.rows(rank));
    comm.start({send_to(home, sum.k), send_to(home, sum.v), recv_from(far, coming.k), recv_from(far, coming.v)})
        .wait();
    return {std::move(dq), std::move(coming)};
  }
  return {std::move(dq), std::move(sum)};
}

}  // namespace ringcraft
