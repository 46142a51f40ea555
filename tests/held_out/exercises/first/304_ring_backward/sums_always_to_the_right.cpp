// Mistake: The sums of the gradients go to the next rank in both schedules, while in schedule reversed their blocks go to the previous one.
// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step behind it: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives.
#include <utility>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout) {
  refuse(problem, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, own, schedule, output, dout);
  const int n = problem.world_size, rank = comm.rank(), last = hops(problem);
  const int direction = schedule == Schedule::kForward ? 1 : -1;
  const int start = schedule == Schedule::kForward ? rank : (rank + n - last) % n;
  const int to = (rank + direction + n) % n, from = (rank - direction + n) % n;
  const auto source = [&](int step) { return ((start - direction * step) % n + n) % n; };
  const Sharding sharding = problem.sharding();

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);
  KvBlock ring[2] = {allocate_kv(engine, problem, Role::kElement), allocate_kv(engine, problem, Role::kElement)};
  KvBlock part = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock sum = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock arriving = allocate_kv(engine, problem, Role::kAccumulator);

  const KvBlock* current = &first;
  Pending gradients;
  for (int step = 0; step <= last; ++step) {
    Pending blocks;
    if (step < last) {
      KvBlock& next = ring[step % 2];
      next.set_rows(sharding.rows(source(step + 1)));
      blocks = comm.start(
          {send_to(to, current->k), send_to(to, current->v), recv_from(from, next.k), recv_from(from, next.v)});
    }
    part.set_rows(sharding.rows(source(step)));
    engine.backward(dq, part, saved, *current, key_ranges(problem, rank, source(step)), problem.softmax_scale);
    gradients.wait();
    if (step == 0) {
      std::swap(sum, part);
    } else {
      std::swap(sum, arriving);
      engine.add(sum, part);
    }
    blocks.wait();
    if (step == last) break;
    current = &ring[step % 2];
    arriving.set_rows(sharding.rows(source(step + 1)));
    const int right = (rank + 1) % n, left = (rank + n - 1) % n;
    gradients = comm.start({send_to(right, sum.k), send_to(right, sum.v), recv_from(left, arriving.k),
                            recv_from(left, arriving.v)});

  }

  if (schedule == Schedule::kForward && last > 0) {
    const int owner = (rank - last + n) % n, mine = (rank + last) % n;
    arriving.set_rows(sharding.rows(rank));
    comm.start({send_to(owner, sum.k), send_to(owner, sum.v), recv_from(mine, arriving.k), recv_from(mine, arriving.v)})
        .wait();
    std::swap(sum, arriving);
  }
  return {std::move(dq), std::move(sum)};
}

}  // namespace ringcraft
