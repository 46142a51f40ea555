// Mistake: the last step takes the key ranges of the block of the step before it, because the source is renewed only in steps that still exchange, instead of those of the block that it holds.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), me = comm.rank(), moves = hops(problem);
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  const Sharding shards = problem.sharding();

  RowState state = engine.begin(q);
  KvBlock ring[2];
  const KvBlock* now = &kv;
  int source = me;
  for (int step = 0; step <= moves; ++step) {
    KvBlock& incoming = ring[step % 2];
    Pending exchange;
    if (step < moves) {
      source = (me - step + n) % n;
      if (step < 2) incoming = allocate_kv(engine, problem, Role::kElement);
      incoming.set_rows(shards.rows((source + n - 1) % n));
      exchange = comm.start({send_to(right, now->k), send_to(right, now->v),  //
                             recv_from(left, incoming.k), recv_from(left, incoming.v)});
    }
    engine.forward(state, q, *now, key_ranges(problem, me, source), problem.softmax_scale);
    exchange.wait();
    if (step < moves) now = &incoming;
  }
  Output output = engine.finish(std::move(state));
  if (moves == 0) return {std::move(output), KvBlock{}};
  return {std::move(output), std::move(ring[(moves - 1) % 2])};
}

}  // namespace ringcraft
