// Mistake: the whole ring turns the other way: every rank sends its block to the previous rank and receives from the next, so at step t it holds block rank + t (labelled so, correctly) instead of rank - t; full and causal results stay right, but with fewer than N - 1 hops (windows, packed sequences) needed blocks never come by, and last is the block of rank + hops.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), rank = comm.rank(), last_step = hops(problem);
  const Sharding sharding = problem.sharding();
  // Whom this rank gives to, whom it takes from, and whose block it has in its hands after some hops.
  const int give = (rank + n - 1) % n, take = (rank + 1) % n;
  const auto block_after = [&](int t) { return (rank + t) % n; };

  KvBlock even, odd;
  if (last_step >= 1) even = allocate_kv(engine, problem, Role::kElement);
  if (last_step >= 2) odd = allocate_kv(engine, problem, Role::kElement);

  auto state = engine.begin(q);
  const KvBlock* here = &kv;
  KvBlock *there = &even, *spare = &odd;
  for (int t = 0; t < last_step; ++t) {
    there->set_rows(sharding.rows(block_after(t + 1)));
    Pending hop = comm.start({recv_from(take, there->k), recv_from(take, there->v), send_to(give, here->k),
                              send_to(give, here->v)});
    engine.forward(state, q, *here, key_ranges(problem, rank, block_after(t)), problem.softmax_scale);
    hop.wait();
    here = there;
    std::swap(there, spare);
  }
  engine.forward(state, q, *here, key_ranges(problem, rank, block_after(last_step)), problem.softmax_scale);

  KvBlock last;
  if (last_step > 0) last = std::move(last_step % 2 == 1 ? even : odd);
  return {engine.finish(std::move(state)), std::move(last)};
}

}  // namespace ringcraft
