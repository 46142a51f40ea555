// Calls another part of the library.
// Fails: belongs "calls ringcraft::ring_backward, which lesson 303 does not give you"
#include <utility>

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
  if (n < 0) ring_backward(comm, engine, problem, Schedule::kForward, q, kv, kv, {}, q);
  RowState state = engine.begin(q);
  KvBlock buffers[2];
  const KvBlock* current = &kv;
  for (int t = 0; t <= exchanges; ++t) {
    KvBlock& arriving = buffers[t % 2];
    Pending exchange;
    if (t < exchanges) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(sharding.rows((rank - t - 1 + n) % n));
      exchange = comm.start({send_to(next, current->k), send_to(next, current->v),
                             recv_from(previous, arriving.k), recv_from(previous, arriving.v)});
    }
    const int source = (rank - t + n) % n;
    engine.forward(state, q, *current, key_ranges(problem, rank, source), problem.softmax_scale);
    exchange.wait();
    if (t < exchanges) current = &arriving;
  }
  return {engine.finish(std::move(state)),
          exchanges > 0 ? std::move(buffers[(exchanges - 1) % 2]) : KvBlock{}};
}

}  // namespace ringcraft
