// Mistake: In schedule forward the message home goes one more hop to the next rank (and comes from the previous one) instead of straight to rank r - hops (from rank r + hops); whenever hops < world_size - 1 (a window, packed sequences) a rank ends with the gradients of another rank's block. Schedule reversed is right.
// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step behind it: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {

// Both halves of a block leave for `to`, both halves of another one arrive from `from`.
Pending pass_on(Communicator& comm, int to, const KvBlock& out, int from, KvBlock& in) {
  return comm.start(
      {send_to(to, out.k), send_to(to, out.v), recv_from(from, in.k), recv_from(from, in.v)});
}

}  // namespace

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout) {
  refuse(problem, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, own, schedule, output, dout);
  const int n = comm.world_size(), me = comm.rank(), total = hops(problem);
  const bool ahead = schedule == Schedule::kForward;
  const auto wrap = [n](int r) { return (r % n + n) % n; };
  const int to = wrap(ahead ? me + 1 : me - 1), from = wrap(ahead ? me - 1 : me + 1);
  const auto owner_at = [&](int t) { return wrap(ahead ? me - t : me - total + t); };
  const auto rows_at = [&](int t) { return problem.sharding().rows(owner_at(t)); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  RingGradients result;
  result.dq = engine.allocate(problem.q_extents(me), Role::kAccumulator);
  engine.set_zero(result.dq);

  KvBlock ring[2];
  KvBlock share = allocate_kv(engine, problem, Role::kAccumulator), leaving, landing;
  if (total > 0) {
    leaving = allocate_kv(engine, problem, Role::kAccumulator);
    landing = allocate_kv(engine, problem, Role::kAccumulator);
  }
  const KvBlock* block = &first;
  Pending blocks, sums;
  for (int t = 0; t <= total; ++t) {
    KvBlock& slot = ring[t % 2];
    if (t < total) {
      if (t < 2) slot = allocate_kv(engine, problem, Role::kElement);
      slot.set_rows(rows_at(t + 1));
      blocks = pass_on(comm, to, *block, from, slot);
    }
    share.set_rows(rows_at(t));
    engine.backward(result.dq, share, saved, *block, key_ranges(problem, me, owner_at(t)),
                    problem.softmax_scale);
    sums.wait();
    if (t == 0) {
      std::swap(leaving, share);
    } else {
      engine.add(landing, share);
      std::swap(leaving, landing);
    }
    blocks.wait();
    if (t < total) {
      block = &slot;
      landing.set_rows(rows_at(t + 1));
      sums = pass_on(comm, to, leaving, from, landing);
    }
  }
  if (ahead && total > 0) {
    landing.set_rows(problem.sharding().rows(me));
    pass_on(comm, to, leaving, from, landing).wait();
    std::swap(leaving, landing);
  }
  result.dkv = std::move(leaving);
  return result;
}

}  // namespace ringcraft
