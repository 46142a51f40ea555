// Mistake: In Saved the members out and dout are filled the wrong way round, so the engine computes all gradients (dV = P^T dO and dO V^T in dS, hence dq, dk, dv) with the forward output `out` in place of the upstream gradient dout; delta is right.
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
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int direction = schedule == Schedule::kForward ? 1 : -1;
  const int start = schedule == Schedule::kForward ? rank : rank - exchanges;
  const auto modulo = [n](int r) { return (r % n + n) % n; };
  const int next = modulo(rank + direction), previous = modulo(rank - direction);
  const Sharding sharding = problem.sharding();
  const auto source = [&](int step) { return modulo(start - direction * step); };

  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);
  const Buffer delta = engine.delta(output.out, dout);
  const Saved of_rows{q, dout, output.lse, output.out, delta};

  KvBlock kv[2];
  KvBlock grads[3];  // take turns: the part, the sum that leaves, the sum that arrives
  KvBlock *part = &grads[0], *sum = &grads[1], *arriving = &grads[2];
  for (KvBlock& block : grads)
    if (&block == part || exchanges > 0) block = allocate_kv(engine, problem, Role::kAccumulator);

  const KvBlock* current = &first;
  Pending gradients;
  for (int step = 0; step <= exchanges; ++step) {
    const bool last = step == exchanges;
    KvBlock& coming = kv[step % 2];
    Pending exchange;
    if (!last) {
      if (step < 2) coming = allocate_kv(engine, problem, Role::kElement);
      coming.set_rows(sharding.rows(source(step + 1)));
      exchange = comm.start({send_to(next, current->k), send_to(next, current->v),
                             recv_from(previous, coming.k), recv_from(previous, coming.v)});
    }
    part->set_rows(sharding.rows(source(step)));
    engine.backward(dq, *part, of_rows, *current, key_ranges(problem, rank, source(step)),
                    problem.softmax_scale);
    gradients.wait();
    if (step > 0) engine.add(*part, *arriving);
    std::swap(part, sum);
    exchange.wait();
    if (last) break;
    current = &coming;
    arriving->set_rows(sharding.rows(source(step + 1)));
    gradients = comm.start({send_to(next, sum->k), send_to(next, sum->v), recv_from(previous, arriving->k),
                            recv_from(previous, arriving->v)});
  }
  if (schedule == Schedule::kForward && exchanges > 0) {
    const int owner = modulo(rank - exchanges), holder = modulo(rank + exchanges);
    arriving->set_rows(sharding.rows(rank));
    comm.start({send_to(owner, sum->k), send_to(owner, sum->v), recv_from(holder, arriving->k),
                recv_from(holder, arriving->v)})
        .wait();
    std::swap(sum, arriving);
  }
  return {std::move(dq), std::move(*sum)};
}

}  // namespace ringcraft
