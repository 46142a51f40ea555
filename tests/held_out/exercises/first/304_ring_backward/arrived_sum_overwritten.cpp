// Mistake: The part of a step is computed into the block of gradients that has arrived, which overwrites the sum of the ranks before instead of adding to it.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {

Pending hand_on(Communicator& comm, int to, const KvBlock& out, int from, KvBlock& in) {
  return comm.start({send_to(to, out.k), send_to(to, out.v), recv_from(from, in.k), recv_from(from, in.v)});
}

}  // namespace

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout) {
  refuse(problem, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, own, schedule, output, dout);
  const int n = comm.world_size();
  const int rank = comm.rank();
  const int c = hops(problem);
  const int d = schedule == Schedule::kForward ? 1 : -1;
  const int to = (rank + d + n) % n, from = (rank - d + n) % n;
  int source = schedule == Schedule::kForward ? rank : (rank - c + n) % n;
  auto rows_of = [&](int r) { return problem.sharding().rows(r); };

  Buffer delta = engine.delta(output.out, dout);
  Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);

  KvBlock kv_a = allocate_kv(engine, problem, Role::kElement);
  KvBlock kv_b = allocate_kv(engine, problem, Role::kElement);
  KvBlock sum = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock incoming = allocate_kv(engine, problem, Role::kAccumulator);

  const KvBlock* block = &first;
  for (int step = 0; step <= c; step++) {
    const int source_after = (source - d + n) % n;
    KvBlock& next = step % 2 == 0 ? kv_a : kv_b;
    Pending kv_pending;
    if (step < c) {
      next.set_rows(rows_of(source_after));
      kv_pending = hand_on(comm, to, *block, from, next);
    }
    const KeyRanges ranges = key_ranges(problem, rank, source);
    if (step == 0) {
      sum.set_rows(rows_of(source));
      engine.backward(dq, sum, saved, *block, ranges, problem.softmax_scale);
    } else {
      engine.backward(dq, incoming, saved, *block, ranges, problem.softmax_scale);
      std::swap(sum, incoming);
    }
    kv_pending.wait();
    if (step == c) break;
    block = &next;
    source = source_after;
    incoming.set_rows(rows_of(source));
    hand_on(comm, to, sum, from, incoming).wait();
  }
  if (d == 1 && c > 0) {
    incoming.set_rows(rows_of(rank));
    hand_on(comm, (rank - c + n) % n, sum, (rank + c) % n, incoming).wait();
    std::swap(sum, incoming);
  }
  RingGradients result;
  result.dq = std::move(dq);
  result.dkv = std::move(sum);
  return result;
}

}  // namespace ringcraft
