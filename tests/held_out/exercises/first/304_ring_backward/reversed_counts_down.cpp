// Mistake: In schedule reversed the owner of the block in hand is taken to be start minus step, as in schedule forward, instead of start plus step.
// Lesson 304: the ring's backward pass, both schedules. The gradients of a KV block travel with the block,
// one step behind it: while a rank computes its part of the block's dk and dv, the sum of the ranks before it
// arrives.
#include <vector>
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
  const int n = comm.world_size(), r = comm.rank(), hop_count = hops(problem);
  const bool back = schedule == Schedule::kReversed;
  const int next = (r + 1) % n, previous = (r + n - 1) % n;
  const int to = back ? previous : next, from = back ? next : previous;
  std::vector<int> sources;  // whose block is in hand at each step
  for (int step = 0; step <= hop_count; ++step) {
    if (back)
      sources.push_back((r - hop_count - step + 2 * n) % n);
    else
      sources.push_back((r - step + n) % n);
  }
  const auto size = [&](int step) { return problem.sharding().rows(sources[std::size_t(step)]); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  RingGradients result;
  result.dq = engine.allocate(problem.q_extents(r), Role::kAccumulator);
  engine.set_zero(result.dq);

  KvBlock blocks[2] = {allocate_kv(engine, problem, Role::kElement), allocate_kv(engine, problem, Role::kElement)};
  KvBlock grads[3];
  for (auto& g : grads) g = allocate_kv(engine, problem, Role::kAccumulator);
  KvBlock &part = grads[0], &leaves = grads[1], &arrives = grads[2];

  const KvBlock* held = &first;
  Pending of_gradients;
  for (int step = 0; step <= hop_count; ++step) {
    Pending of_blocks;
    if (step < hop_count) {
      KvBlock& in = blocks[step % 2];
      in.set_rows(size(step + 1));
      of_blocks = comm.start({send_to(to, held->k), send_to(to, held->v), recv_from(from, in.k), recv_from(from, in.v)});
    }
    part.set_rows(size(step));
    engine.backward(result.dq, part, saved, *held, key_ranges(problem, r, sources[std::size_t(step)]),
                    problem.softmax_scale);
    of_gradients.wait();
    if (step > 0) engine.add(part, arrives);
    std::swap(part, leaves);
    of_blocks.wait();
    if (step < hop_count) {
      held = &blocks[step % 2];
      arrives.set_rows(size(step + 1));
      of_gradients = comm.start({send_to(to, leaves.k), send_to(to, leaves.v), recv_from(from, arrives.k),
                                 recv_from(from, arrives.v)});
    }
  }
  if (!back && hop_count > 0) {
    arrives.set_rows(problem.sharding().rows(r));
    const int owner = (r - hop_count + n) % n, holder = (r + hop_count) % n;
    comm.start({send_to(owner, leaves.k), send_to(owner, leaves.v), recv_from(holder, arrives.k),
                recv_from(holder, arrives.v)})
        .wait();
    result.dkv = std::move(arrives);
  } else {
    result.dkv = std::move(leaves);
  }
  return result;
}

}  // namespace ringcraft
