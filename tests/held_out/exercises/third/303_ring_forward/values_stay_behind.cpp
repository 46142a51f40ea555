// Mistake: (1) every hop hands on the current block's k but always this rank's own v, so from step 2 on the keys of block rank - t are paired with the values of the previous rank (with ragged shards the lengths of v do not fit either). (2) The returned last is always ring buffer 0, which for an even number of hops holds the block before the last one.
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
  const int n = comm.world_size(), rank = comm.rank();
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const int exchanges = hops(problem);
  const Sharding sharding = problem.sharding();

  KvBlock ring[2];
  for (int b = 0; b < 2 && b < exchanges; ++b) ring[b] = allocate_kv(engine, problem, Role::kElement);

  RowState state = engine.begin(q);
  const Buffer* keys = &kv.k;
  int source = rank;
  for (int t = 0; t <= exchanges; ++t, source = (source + n - 1) % n) {
    Pending exchange;
    KvBlock& target = ring[t % 2];
    if (t < exchanges) {
      target.set_rows(sharding.rows((source + n - 1) % n));
      exchange = comm.start({send_to(next, *keys), send_to(next, kv.v), recv_from(previous, target.k),
                             recv_from(previous, target.v)});
    }
    if (t == 0) {
      engine.forward(state, q, kv, key_ranges(problem, rank, rank), problem.softmax_scale);
    } else {
      engine.forward(state, q, ring[(t + 1) % 2], key_ranges(problem, rank, source), problem.softmax_scale);
    }
    exchange.wait();
    keys = &target.k;
  }
  return {engine.finish(std::move(state)), std::move(ring[0])};
}

}  // namespace ringcraft
