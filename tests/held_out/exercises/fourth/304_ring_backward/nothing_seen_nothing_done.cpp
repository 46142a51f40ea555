// Mistake: For a block of which this rank sees no pair engine.backward is skipped, but the part buffer is not cleared: it still holds the dk and dv which this rank computed for the last block that it did see, and they are added to the sum of the unseen block, which gets too much. dq is right.
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
  const int n = comm.world_size(), rank = comm.rank(), count = hops(problem);
  const int sign = schedule == Schedule::kReversed ? -1 : 1;
  const int begin = schedule == Schedule::kReversed ? rank - count : rank;
  const auto mod = [n](int x) { return ((x % n) + n) % n; };
  const int downstream = mod(rank + sign), upstream = mod(rank - sign);
  const Sharding sharding = problem.sharding();

  const Buffer delta = engine.delta(output.out, dout);
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);
  const auto zeros = [&] {
    KvBlock block = allocate_kv(engine, problem, Role::kAccumulator);
    engine.set_zero(block.k);
    engine.set_zero(block.v);
    return block;
  };
  KvBlock part = zeros(), arriving = zeros(), leaving;
  arriving.set_rows(sharding.rows(mod(begin)));  // before the first step there is a sum of nothing

  KvBlock ring[2];
  const KvBlock* current = &first;
  Pending kv_under_way, sums_under_way;
  for (int step = 0; step <= count; ++step) {
    const int source = mod(begin - sign * step), following = mod(begin - sign * (step + 1));
    if (step < count) {
      KvBlock& next = ring[step % 2];
      if (step < 2) next = allocate_kv(engine, problem, Role::kElement);
      next.set_rows(sharding.rows(following));
      kv_under_way = comm.start({send_to(downstream, current->k), send_to(downstream, current->v),
                                 recv_from(upstream, next.k), recv_from(upstream, next.v)});
    }

    part.set_rows(sharding.rows(source));
    const KeyRanges seen = key_ranges(problem, rank, source);
    if (seen.pairs() > 0) {
      const Saved saved{q, output.out, output.lse, dout, delta};
      engine.backward(dq, part, saved, *current, seen, problem.softmax_scale);
    }

    sums_under_way.wait();
    engine.add(arriving, part);
    std::swap(leaving, arriving);
    kv_under_way.wait();
    if (step < count) {
      current = &ring[step % 2];
      if (step == 0) arriving = zeros();
      arriving.set_rows(sharding.rows(following));
      sums_under_way = comm.start({send_to(downstream, leaving.k), send_to(downstream, leaving.v),
                                   recv_from(upstream, arriving.k), recv_from(upstream, arriving.v)});
    }
  }

  if (schedule == Schedule::kForward && count > 0) {
    arriving.set_rows(sharding.rows(rank));
    comm.start({send_to(mod(rank - count), leaving.k), send_to(mod(rank - count), leaving.v),
                recv_from(mod(rank + count), arriving.k), recv_from(mod(rank + count), arriving.v)})
        .wait();
    return {std::move(dq), std::move(arriving)};
  }
  return {std::move(dq), std::move(leaving)};
}

}  // namespace ringcraft
