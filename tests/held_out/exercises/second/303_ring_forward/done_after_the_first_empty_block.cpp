// Mistake: a rank merges no block any more once it has met one without a visible pair, instead of leaving out only that block.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const Sharding sharding = problem.sharding();

  RowState state = engine.begin(q);
  bool done = false;
  KvBlock buffers[2];            // the current block and the arriving one take turns
  const KvBlock* current = &kv;  // the caller's own block is read, never received into
  for (int t = 0; t <= exchanges; ++t) {
    KvBlock& arriving = buffers[t % 2];
    Pending exchange;
    if (t < exchanges) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(sharding.rows((rank - t - 1 + n) % n));
      exchange = comm.start({send_to(next, current->k), send_to(next, current->v),  //
                             recv_from(previous, arriving.k), recv_from(previous, arriving.v)});
    }
    const int source = (rank - t + n) % n;  // whose block this rank holds at step t
    const KeyRanges ranges = key_ranges(problem, rank, source);
    done = done || ranges.pairs() == 0;
    if (!done) engine.forward(state, q, *current, ranges, problem.softmax_scale);
    exchange.wait();
    if (t < exchanges) current = &arriving;
  }
  return {engine.finish(std::move(state)),
          exchanges > 0 ? std::move(buffers[(exchanges - 1) % 2]) : KvBlock{}};
}

}  // namespace ringcraft
