// Mistake: in schedule forward the message home always goes to the next rank (and is taken from the previous one) instead of going to rank - hops (taken from rank + hops); right for N - 1 hops, but with fewer hops (windows, packed sequences) each rank ends with another block's dk, dv.
// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step behind it: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

namespace {

struct Route {
  int n, rank, steps, way;  // way: 1 to the next rank, -1 to the previous one

  int wrap(int r) const { return (r + 2 * n) % n; }
  int to() const { return wrap(rank + way); }
  int from() const { return wrap(rank - way); }
  int block_at(int step) const { return way == 1 ? wrap(rank - step) : wrap(rank - steps + step); }
};

Pending hand_on(Communicator& comm, int to, const KvBlock& out, int from, KvBlock& in) {
  return comm.start({send_to(to, out.k), send_to(to, out.v), recv_from(from, in.k), recv_from(from, in.v)});
}

}  // namespace

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout) {
  refuse(problem, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, own, schedule, output, dout);
  const Route route{comm.world_size(), comm.rank(), hops(problem), schedule == Schedule::kForward ? 1 : -1};
  const Sharding sharding = problem.sharding();
  const auto rows = [&](int step) { return sharding.rows(route.block_at(step)); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  RingGradients result;
  result.dq = engine.allocate(problem.q_extents(route.rank), Role::kAccumulator);
  engine.set_zero(result.dq);

  KvBlock part = allocate_kv(engine, problem, Role::kAccumulator), leaving, arriving, now, soon;
  Pending sums;
  for (int step = 0; step <= route.steps; ++step) {
    const KvBlock& block = step == 0 ? first : now;
    const bool more = step < route.steps;
    Pending blocks;
    if (more) {
      if (step < 2) soon = allocate_kv(engine, problem, Role::kElement);
      soon.set_rows(rows(step + 1));
      blocks = hand_on(comm, route.to(), block, route.from(), soon);
    }
    part.set_rows(rows(step));
    engine.backward(result.dq, part, saved, block, key_ranges(problem, route.rank, route.block_at(step)),
                    problem.softmax_scale);
    sums.wait();
    if (step > 0) {
      engine.add(arriving, part);
      std::swap(leaving, arriving);
    } else {
      std::swap(leaving, part);
      if (more) part = allocate_kv(engine, problem, Role::kAccumulator);
    }
    blocks.wait();
    if (more) {
      std::swap(now, soon);
      if (step == 0) arriving = allocate_kv(engine, problem, Role::kAccumulator);
      arriving.set_rows(rows(step + 1));
      sums = hand_on(comm, route.to(), leaving, route.from(), arriving);
    }
  }

  if (schedule == Schedule::kForward && route.steps > 0) {
    // Every sum is complete now, on the rank where its block has ended.
    arriving.set_rows(sharding.rows(route.rank));
    hand_on(comm, route.to(), leaving, route.from(), arriving).wait();
    std::swap(leaving, arriving);
  }
  result.dkv = std::move(leaving);
  return result;
}

}  // namespace ringcraft
