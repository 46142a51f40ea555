// Equivalent: every block and every sum makes all hops, whether a rank further along needs it or not.
#include <utility>

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
  const int start = schedule == Schedule::kForward ? rank : rank - exchanges;  // whose block comes first
  const auto modulo = [n](int r) { return (r % n + n) % n; };
  const int next = modulo(rank + direction), previous = modulo(rank - direction);
  const Sharding sharding = problem.sharding();
  const auto source = [&](int step) { return modulo(start - direction * step); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);
  KvBlock kv[2];                // the current KV block and the arriving one
  KvBlock part, sum, arriving;  // dk, dv: this step's share, the block's sum so far, the next block's sum
  const KvBlock* current = &first;
  Pending gradients;
  for (int step = 0; step <= exchanges; ++step) {
    KvBlock& coming = kv[step % 2];
    Pending exchange;
    if (step < exchanges) {
      if (step < 2) coming = allocate_kv(engine, problem, Role::kElement);
      coming.set_rows(sharding.rows(source(step + 1)));
      exchange = comm.start({send_to(next, current->k), send_to(next, current->v),  //
                             recv_from(previous, coming.k), recv_from(previous, coming.v)});
    }
    if (part.k.extents() == Extents{}) part = allocate_kv(engine, problem, Role::kAccumulator);
    part.set_rows(sharding.rows(source(step)));
    engine.backward(dq, part, saved, *current, key_ranges(problem, rank, source(step)),
                    problem.softmax_scale);
    gradients.wait();  // the sum of the ranks before this one is here, the last block's sum has left
    if (step > 0) {
      engine.add(arriving, part);
      std::swap(sum, arriving);  // the old sum's buffer is free: the next sum arrives in it
    } else {
      std::swap(sum, part);
    }
    exchange.wait();
    if (step == exchanges) break;
    current = &coming;
    if (arriving.k.extents() == Extents{}) arriving = allocate_kv(engine, problem, Role::kAccumulator);
    arriving.set_rows(sharding.rows(source(step + 1)));
    gradients = comm.start({send_to(next, sum.k), send_to(next, sum.v),  //
                            recv_from(previous, arriving.k), recv_from(previous, arriving.v)});
  }
  if (schedule == Schedule::kForward && exchanges > 0) {
    const int owner = modulo(rank - exchanges), holder = modulo(rank + exchanges);
    arriving.set_rows(sharding.rows(rank));
    comm.start({send_to(owner, sum.k), send_to(owner, sum.v), recv_from(holder, arriving.k),
                recv_from(holder, arriving.v)})
        .wait();
    std::swap(sum, arriving);
  }
  return {std::move(dq), std::move(sum)};
}

}  // namespace ringcraft
