// Mistake: delta is rowsum(out * out) instead of rowsum(dout * out).
// Also: The message home of schedule forward receives dk into dv and dv into dk.
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
  const int n = comm.world_size(), me = comm.rank(), last = hops(problem);
  const bool forward = schedule == Schedule::kForward;
  const auto ring = [n](int x) { return ((x % n) + n) % n; };
  const auto owner = [&](int step) { return forward ? ring(me - step) : ring(me - last + step); };
  const int ahead = ring(forward ? me + 1 : me - 1), behind = ring(forward ? me - 1 : me + 1);
  const auto exchange = [&](const KvBlock& out, KvBlock& in, int owner_of_in) {
    in.set_rows(problem.sharding().rows(owner_of_in));
    return comm.start({send_to(ahead, out.k), recv_from(behind, in.k), send_to(ahead, out.v), recv_from(behind, in.v)});
  };

  const Buffer delta = engine.delta(output.out, output.out);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(me), Role::kAccumulator);
  engine.set_zero(dq);
  KvBlock even = allocate_kv(engine, problem, Role::kElement), odd = allocate_kv(engine, problem, Role::kElement);
  KvBlock part = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock leaving = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock coming = allocate_kv(engine, problem, Role::kAccumulator);
  const KvBlock* current = &first;
  Pending sums;

  for (int step = 0; step <= last; ++step) {
    KvBlock& next = step % 2 ? odd : even;
    Pending kv;
    if (step < last) kv = exchange(*current, next, owner(step + 1));
    part.set_rows(problem.sharding().rows(owner(step)));
    engine.backward(dq, part, saved, *current, key_ranges(problem, me, owner(step)), problem.softmax_scale);
    sums.wait();
    if (step > 0) engine.add(coming, part);
    std::swap(leaving, step > 0 ? coming : part);
    kv.wait();
    if (step == last) continue;
    current = &next;
    sums = exchange(leaving, coming, owner(step + 1));
  }
  if (!forward || last == 0) return {std::move(dq), std::move(leaving)};

  coming.set_rows(problem.sharding().rows(me));
  const int home = ring(me - last), keeper = ring(me + last);
  Pending luggage = comm.start({send_to(home, leaving.k), send_to(home, leaving.v), recv_from(keeper, coming.v),
                                recv_from(keeper, coming.k)});
  luggage.wait();
  return {std::move(dq), std::move(coming)};
}

}  // namespace ringcraft
