// Mistake: The message home (sum to rank r - hops, own sum from rank r + hops) is sent in schedule reversed as well, where the sum is at home already: the complete dk and dv of a rank's own block go to another rank, and the rank returns those of the block of rank r + hops (and too many bytes are sent). Schedule forward is right.
// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step behind it: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {

// Where things go, where they come from, and whose block comes first.
struct Route {
  int n, to, from, first, sign;
  int source(int step) const { return ((first - sign * step) % n + n) % n; }
};

Route route_of(Schedule schedule, int rank, int n, int exchanges) {
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  if (schedule == Schedule::kForward) return {n, next, previous, rank, 1};
  return {n, previous, next, rank - exchanges, -1};
}

}  // namespace

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout) {
  refuse(problem, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, own, schedule, output, dout);
  const int rank = comm.rank(), n = comm.world_size(), exchanges = hops(problem);
  const Route route = route_of(schedule, rank, n, exchanges);
  const Sharding sharding = problem.sharding();
  const auto swap_with = [&](int to, const KvBlock& out, int from, KvBlock& in, int owner) {
    in.set_rows(sharding.rows(owner));
    return comm.start(
        {send_to(to, out.k), recv_from(from, in.k), send_to(to, out.v), recv_from(from, in.v)});
  };
  const auto gradients_block = [&] { return allocate_kv(engine, problem, Role::kAccumulator); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);

  KvBlock held, coming, sum = gradients_block(), part, before;
  Pending sums;
  for (int step = 0; step <= exchanges; ++step) {
    const KvBlock& block = step == 0 ? first : held;
    const int source = route.source(step);
    Pending blocks;
    if (step < exchanges) {
      if (step < 2) coming = allocate_kv(engine, problem, Role::kElement);
      blocks = swap_with(route.to, block, route.from, coming, route.source(step + 1));
    }
    const KeyRanges ranges = key_ranges(problem, rank, source);
    if (step == 0) {
      sum.set_rows(sharding.rows(source));
      engine.backward(dq, sum, saved, block, ranges, problem.softmax_scale);
    } else {
      if (step == 1) part = gradients_block();
      part.set_rows(sharding.rows(source));
      engine.backward(dq, part, saved, block, ranges, problem.softmax_scale);
      sums.wait();
      engine.add(before, part);
      std::swap(sum, before);
    }
    blocks.wait();
    if (step == exchanges) break;
    std::swap(held, coming);
    if (step == 0) before = gradients_block();
    sums = swap_with(route.to, sum, route.from, before, route.source(step + 1));
  }

  if (exchanges > 0) {  // the sums go home to their owners
    const int owner = (rank - exchanges + n) % n, holder = (rank + exchanges) % n;
    swap_with(owner, sum, holder, before, rank).wait();
    std::swap(sum, before);
  }
  return {std::move(dq), std::move(sum)};
}

}  // namespace ringcraft
