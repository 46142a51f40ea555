// Mistake: the message home (sum sent to rank - hops, received from rank + hops) is also made in schedule reversed, where the sums are at home already, so there each rank ends with dk, dv of block rank + hops; schedule forward and dq are right.
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
  const int n = comm.world_size(), me = comm.rank(), count = hops(problem);
  const Sharding sharding = problem.sharding();

  int to = (me + 1) % n, from = (me + n - 1) % n, owner = me;
  if (schedule == Schedule::kReversed) {
    std::swap(to, from);
    owner = (me + n - count) % n;
  }
  // Blocks come from where the messages come from.
  const int turn = (from - me + n) % n;

  const Buffer delta = engine.delta(output.out, dout);
  Buffer dq = engine.allocate(problem.q_extents(me), Role::kAccumulator);
  engine.set_zero(dq);
  const auto share = [&](KvBlock& into, const KvBlock& block) {
    into.set_rows(sharding.rows(owner));
    engine.backward(dq, into, Saved{q, output.out, output.lse, dout, delta}, block,
                    key_ranges(problem, me, owner), problem.softmax_scale);
  };

  KvBlock total = allocate_kv(engine, problem, Role::kAccumulator);
  if (count == 0) {
    share(total, first);
    return {std::move(dq), std::move(total)};
  }

  KvBlock a = allocate_kv(engine, problem, Role::kElement), b;
  if (count > 1) b = allocate_kv(engine, problem, Role::kElement);
  KvBlock part = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock next_total = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock *target = &a, *other = &b;
  const KvBlock* block = &first;
  Pending totals;
  for (int step = 0; step < count; ++step) {
    const int coming = (owner + turn) % n;
    target->set_rows(sharding.rows(coming));
    Pending blocks = comm.start({send_to(to, block->k), recv_from(from, target->k),  //
                                 send_to(to, block->v), recv_from(from, target->v)});
    if (step == 0) {
      share(total, *block);
    } else {
      share(part, *block);
      totals.wait();
      engine.add(next_total, part);
      std::swap(total, next_total);
    }
    next_total.set_rows(sharding.rows(coming));
    totals = comm.start({send_to(to, total.k), recv_from(from, next_total.k),  //
                         send_to(to, total.v), recv_from(from, next_total.v)});
    blocks.wait();
    block = target;
    std::swap(target, other);
    owner = coming;
  }
  share(part, *block);
  totals.wait();
  engine.add(next_total, part);

  // Now to the owners.
  const int home = (me + n - count) % n, away = (me + count) % n;
  total.set_rows(sharding.rows(me));
  comm.start({send_to(home, next_total.k), recv_from(away, total.k),  //
              send_to(home, next_total.v), recv_from(away, total.v)})
      .wait();
  return {std::move(dq), std::move(total)};
}

}  // namespace ringcraft
