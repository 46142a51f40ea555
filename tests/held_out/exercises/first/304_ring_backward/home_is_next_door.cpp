// Mistake: In schedule forward the finished sum is sent to the next rank instead of to rank minus hops, which differ where a window ends the ring early.
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
  const auto wrap = [n](int r) { return (r % n + n) % n; };
  const bool forward = schedule == Schedule::kForward;
  const int direction = forward ? 1 : -1;
  const int start = forward ? me : wrap(me - count);
  const auto source = [&](int step) { return wrap(start - direction * step); };
  const auto rows = [&](int step) { return problem.sharding().rows(source(step)); };
  const int to = wrap(me + direction), from = wrap(me - direction);

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(me), Role::kAccumulator);
  engine.set_zero(dq);
  KvBlock ring[2];
  for (KvBlock& block : ring) block = allocate_kv(engine, problem, Role::kElement);
  KvBlock part = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock sum = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock arriving = allocate_kv(engine, problem, Role::kAccumulator);

  const KvBlock* current = &first;
  Pending gradients;
  for (int step = 0; step <= count; ++step) {
    Pending blocks;
    KvBlock& next = ring[step % 2];
    if (step < count) {
      next.set_rows(rows(step + 1));
      blocks = comm.start(
          {send_to(to, current->k), send_to(to, current->v), recv_from(from, next.k), recv_from(from, next.v)});
    }
    part.set_rows(rows(step));
    engine.backward(dq, part, saved, *current, key_ranges(problem, me, source(step)), problem.softmax_scale);
    gradients.wait();
    if (step == 0) {
      std::swap(sum, part);
    } else {
      engine.add(arriving, part);
      std::swap(sum, arriving);
    }
    blocks.wait();
    if (step == count) break;
    current = &next;
    arriving.set_rows(rows(step + 1));
    gradients = comm.start(
        {send_to(to, sum.k), send_to(to, sum.v), recv_from(from, arriving.k), recv_from(from, arriving.v)});
  }
  if (forward && count > 0) {
    const int owner = to, keeper = from;
    arriving.set_rows(problem.sharding().rows(me));
    comm.start({send_to(owner, sum.k), send_to(owner, sum.v), recv_from(keeper, arriving.k),
                recv_from(keeper, arriving.v)})
        .wait();
    std::swap(sum, arriving);
  }
  return {std::move(dq), std::move(sum)};
}

}  // namespace ringcraft
