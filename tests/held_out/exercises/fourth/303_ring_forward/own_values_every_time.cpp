// Mistake: In every exchange a rank sends the keys of the block that it holds, but always its own values (kv.v) instead of the held block's values; so from step 2 on a rank computes with the keys of rank r - t but with the values of rank r - 1 (and, where shards differ in length, the lengths of v do not fit); `last` is wrong likewise.
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
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const Sharding sharding = problem.sharding();

  RowState state = engine.begin(q);
  KvBlock here, coming;  // what we hold (empty: our own block) and what arrives
  for (int t = 0; t <= exchanges; ++t) {
    const Buffer& keys = t == 0 ? kv.k : here.k;
    const Buffer& values = t == 0 ? kv.v : here.v;
    const KvBlock& block = t == 0 ? kv : here;
    const int source = (rank - t + n) % n;
    Pending exchange;
    if (t < exchanges) {
      if (t < 2) coming = allocate_kv(engine, problem, Role::kElement);
      coming.set_rows(sharding.rows((source + n - 1) % n));
      exchange = comm.start({send_to(next, keys), send_to(next, kv.v), recv_from(previous, coming.k),
                             recv_from(previous, coming.v)});
    }
    const KeyRanges visible = key_ranges(problem, rank, source);
    if (visible.pairs() > 0 && !values.empty()) engine.forward(state, q, block, visible, problem.softmax_scale);
    exchange.wait();
    if (t < exchanges) std::swap(here, coming);
  }
  return {engine.finish(std::move(state)), std::move(here)};
}

}  // namespace ringcraft
