// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step later: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives. Blocks and sums go as far as their reach and no further; what would go on is empty.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"
#include "ringcraft/ring/route.hpp"

namespace ringcraft {

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout) {
  refuse(problem, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, own, schedule, output, dout);
  // BEGIN SOLUTION 304 [ring_backward]
  const Route route(problem, comm.rank(), schedule);
  const int rank = comm.rank(), exchanges = route.exchanges();
  const int next = route.next(), previous = route.previous(), last = route.last_rank();

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);
  KvBlock kv[2], nothing;       // the current KV block and the arriving one; what goes beyond the reach
  KvBlock part, sum, arriving;  // dk, dv: this step's share, the block's sum so far, the next block's sum
  KvBlock early;                // the own sum, if it is complete while others still travel
  part = allocate_kv(engine, problem, Role::kAccumulator);
  if (exchanges > 0) sum = allocate_kv(engine, problem, Role::kAccumulator);
  if (exchanges > 0) arriving = allocate_kv(engine, problem, Role::kAccumulator);
  if (route.waits_at_home()) early = allocate_kv(engine, problem, Role::kAccumulator);
  const KvBlock* current = &first;
  Pending gradients;
  for (int step = 0; step <= exchanges; ++step) {
    KvBlock& coming = kv[step % 2];
    Pending exchange;
    if (step < exchanges) {
      if (step < 2) coming = allocate_kv(engine, problem, Role::kElement);
      coming.set_rows(route.rows_arriving(step + 1));
      const KvBlock& leaving = route.onward(step) ? *current : nothing;
      const KvBlock& entering = route.enters(step) ? own : nothing;
      const int from = route.comes_from(step + 1);
      exchange = comm.start({send_to(next, leaving.k), send_to(next, leaving.v),    //
                             send_to(last, entering.k), send_to(last, entering.v),  //
                             recv_from(from, coming.k), recv_from(from, coming.v)});
    }
    part.set_rows(route.rows(step));
    engine.backward(dq, part, saved, *current, key_ranges(problem, rank, route.source(step)),
                    problem.softmax_scale);
    gradients.wait();  // the sum of the ranks before this one is here, the last block's sum has left
    if (route.begins(step)) {
      std::swap(sum, part);
    } else {
      engine.add(arriving, part);
      std::swap(sum, arriving);  // the old sum's buffer is free: the next sum arrives in it
    }
    exchange.wait();
    if (exchanges == 0) break;
    current = route.is_kept(step + 1) ? &own : &coming;
    if (route.stays(step)) std::swap(early, sum);
    KvBlock& home = step < exchanges ? early : part;  // after the last step there is no share to compute
    if (route.returns(step)) home.set_rows(problem.sharding().rows(rank));
    arriving.set_rows(route.sum_rows_arriving(step + 1));
    const KvBlock& leaving = route.sum_leaves(step) ? sum : nothing;
    KvBlock& returning = route.returns(step) ? home : nothing;
    const int to = route.sum_to(step);
    gradients = comm.start({send_to(to, leaving.k), send_to(to, leaving.v),                    //
                            recv_from(previous, arriving.k), recv_from(previous, arriving.v),  //
                            recv_from(last, returning.k), recv_from(last, returning.v)});
  }
  gradients.wait();
  if (route.waits_at_home()) std::swap(sum, early);
  if (route.returns(exchanges)) std::swap(sum, part);
  return {std::move(dq), std::move(sum)};
  // END SOLUTION [ring_backward]
}

}  // namespace ringcraft
