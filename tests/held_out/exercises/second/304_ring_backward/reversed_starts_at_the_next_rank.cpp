// Mistake: the reversed schedule takes the block it begins with for that of rank + 1, as if every ring made N - 1 hops, instead of that of rank - hops.
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
  const int n = comm.world_size(), me = comm.rank(), moves = hops(problem);
  const bool reversed = schedule == Schedule::kReversed;
  const auto wrap = [n](int r) { return (r + 2 * n) % n; };
  const int to = reversed ? wrap(me - 1) : wrap(me + 1);
  const int from = reversed ? wrap(me + 1) : wrap(me - 1);
  const auto whose = [&](int step) { return reversed ? wrap(me + 1 + step) : wrap(me - step); };
  const auto rows = [&](int r) { return problem.sharding().rows(r); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(me), Role::kAccumulator);
  engine.set_zero(dq);

  KvBlock ring[2];
  for (int i = 0; i < 2 && i < moves; ++i) ring[i] = allocate_kv(engine, problem, Role::kElement);
  KvBlock part = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock sum = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock incoming = allocate_kv(engine, problem, Role::kAccumulator);
  const KvBlock* now = &first;
  Pending sums;
  for (int step = 0;; ++step) {
    Pending blocks;
    if (step < moves) {
      ring[step % 2].set_rows(rows(whose(step + 1)));
      blocks = comm.start({send_to(to, now->k), send_to(to, now->v),  //
                           recv_from(from, ring[step % 2].k), recv_from(from, ring[step % 2].v)});
    }
    part.set_rows(rows(whose(step)));
    engine.backward(dq, part, saved, *now, key_ranges(problem, me, whose(step)), problem.softmax_scale);
    sums.wait();
    if (step == 0) {
      std::swap(sum, part);
    } else {
      engine.add(incoming, part);
      std::swap(sum, incoming);
    }
    blocks.wait();
    if (step == moves) break;
    now = &ring[step % 2];
    incoming.set_rows(rows(whose(step + 1)));
    sums = comm.start({send_to(to, sum.k), send_to(to, sum.v),  //
                       recv_from(from, incoming.k), recv_from(from, incoming.v)});
  }
  if (!reversed && moves > 0) {
    incoming.set_rows(rows(me));
    comm.start({send_to(wrap(me - moves), sum.k), send_to(wrap(me - moves), sum.v),
                recv_from(wrap(me + moves), incoming.k), recv_from(wrap(me + moves), incoming.v)})
        .wait();
    return {std::move(dq), std::move(incoming)};
  }
  return {std::move(dq), std::move(sum)};
}

}  // namespace ringcraft
