// Mistake: (1) dq is set to zero before every block, so it contains the share of the last block only. (2) What is handed on after a step is the rank's own part alone instead of the arrived sum plus the part, so an owner's dk, dv contain the parts of the last two visited ranks only.
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
  const int sign = schedule == Schedule::kForward ? 1 : -1;
  const auto at = [n](int r) { return (r % n + n) % n; };
  const Sharding sharding = problem.sharding();
  const int start = sign == 1 ? rank : rank - exchanges;

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);

  KvBlock now, soon;                // keys and values
  KvBlock part, leaving, arriving;  // their gradients
  for (KvBlock* g : {&part, &leaving, &arriving})
    if (g == &part || exchanges > 0) *g = allocate_kv(engine, problem, Role::kAccumulator);

  const auto swap_with_neighbours = [&](const KvBlock& mine, KvBlock& theirs, int step) {
    theirs.set_rows(sharding.rows(at(start - sign * (step + 1))));
    const int there = at(rank + sign), here = at(rank - sign);
    return comm.start({send_to(there, mine.k), send_to(there, mine.v), recv_from(here, theirs.k),
                       recv_from(here, theirs.v)});
  };

  Pending gradients;
  for (int step = 0;; ++step) {
    const int source = at(start - sign * step);
    const KvBlock& block = step == 0 ? first : now;
    Pending exchange;
    if (step < exchanges) {
      if (step < 2) soon = allocate_kv(engine, problem, Role::kElement);
      exchange = swap_with_neighbours(block, soon, step);
    }
    part.set_rows(sharding.rows(source));
    engine.set_zero(dq);
    engine.backward(dq, part, saved, block, key_ranges(problem, rank, source), problem.softmax_scale);
    gradients.wait();
    if (step > 0) engine.add(arriving, part);
    exchange.wait();
    if (step == exchanges) break;
    std::swap(now, soon);
    std::swap(leaving, part);
    gradients = swap_with_neighbours(leaving, arriving, step);
  }
  if (exchanges == 0) return {std::move(dq), std::move(part)};
  if (sign == -1) return {std::move(dq), std::move(arriving)};

  const int owner = at(rank - exchanges), holder = at(rank + exchanges);
  leaving.set_rows(sharding.rows(rank));
  comm.start({send_to(owner, arriving.k), send_to(owner, arriving.v), recv_from(holder, leaving.k),
              recv_from(holder, leaving.v)})
      .wait();
  return {std::move(dq), std::move(leaving)};
}

}  // namespace ringcraft
