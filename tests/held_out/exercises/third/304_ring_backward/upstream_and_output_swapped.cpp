// Mistake: the engine is given the forward output as dout and dout as the forward output (the two are exchanged in Saved), so every share of dq, dk and dv is computed with out in the place of the upstream gradient; delta, a product of both, is right.
// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step behind it: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

namespace {

// What stays on the rank: its saved rows and the gradient of its queries.
class Home {
 public:
  Home(BlockEngine& engine, const Problem& problem, int rank, const Buffer& q, const Buffer& dout,
       const Output& output)
      : engine_(engine),
        problem_(problem),
        rank_(rank),
        delta_(engine.delta(output.out, dout)),
        saved_{q, dout, output.lse, output.out, delta_},
        dq_(engine.allocate(problem.q_extents(rank), Role::kAccumulator)) {
    engine_.set_zero(dq_);
  }

  void share_of(const KvBlock& block, int owner, KvBlock& part) {
    part.set_rows(problem_.sharding().rows(owner));
    engine_.backward(dq_, part, saved_, block, key_ranges(problem_, rank_, owner), problem_.softmax_scale);
  }
  Buffer take_dq() { return std::move(dq_); }

 private:
  BlockEngine& engine_;
  const Problem& problem_;
  int rank_;
  Buffer delta_;
  Saved saved_;
  Buffer dq_;
};

}  // namespace

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const KvBlock& own,
                            const Output& output, const Buffer& dout) {
  refuse(problem, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, own, schedule, output, dout);
  const int n = comm.world_size(), rank = comm.rank(), c = hops(problem);
  const int step_to = schedule == Schedule::kForward ? 1 : n - 1;  // added, modulo n
  const int next = (rank + step_to) % n, previous = (rank + n - step_to) % n;
  const Sharding sharding = problem.sharding();

  int owners[2] = {schedule == Schedule::kForward ? rank : (rank - c + n) % n, 0};  // now, and in the next step
  Home home(engine, problem, rank, q, dout, output);
  KvBlock ring[2], part, sum, arriving;
  part = allocate_kv(engine, problem, Role::kAccumulator);
  if (c > 0) arriving = allocate_kv(engine, problem, Role::kAccumulator);
  if (c > 0) sum = allocate_kv(engine, problem, Role::kAccumulator);

  Pending of_sums;
  for (int t = 0; t < c; ++t) {
    owners[1] = (owners[0] + n - step_to) % n;
    const KvBlock& block = t == 0 ? first : ring[1 - t % 2];
    KvBlock& into = ring[t % 2];
    if (t < 2) into = allocate_kv(engine, problem, Role::kElement);
    into.set_rows(sharding.rows(owners[1]));
    Pending of_blocks = comm.start({recv_from(previous, into.k), recv_from(previous, into.v),
                                    send_to(next, block.k), send_to(next, block.v)});
    home.share_of(block, owners[0], part);
    of_sums.wait();
    if (t == 0) {
      std::swap(sum, part);
    } else {
      engine.add(arriving, part);
      std::swap(sum, arriving);
    }
    of_blocks.wait();
    arriving.set_rows(sharding.rows(owners[1]));
    of_sums = comm.start({recv_from(previous, arriving.k), recv_from(previous, arriving.v),
                          send_to(next, sum.k), send_to(next, sum.v)});
    owners[0] = owners[1];
  }
  home.share_of(c == 0 ? first : ring[1 - c % 2], owners[0], part);
  if (c == 0) return {home.take_dq(), std::move(part)};
  of_sums.wait();
  engine.add(arriving, part);
  if (schedule == Schedule::kReversed) return {home.take_dq(), std::move(arriving)};

  sum.set_rows(sharding.rows(rank));
  comm.start({send_to((rank - c + n) % n, arriving.k), send_to((rank - c + n) % n, arriving.v),
              recv_from((rank + c) % n, sum.k), recv_from((rank + c) % n, sum.v)})
      .wait();
  return {home.take_dq(), std::move(sum)};
}

}  // namespace ringcraft
