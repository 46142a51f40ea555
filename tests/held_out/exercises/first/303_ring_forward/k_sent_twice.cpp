// Mistake: The second message of an exchange carries k again instead of v, so every block that arrives has its keys in the place of its values.
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
  const int n = comm.world_size(), me = comm.rank();
  const int next = (me + 1) % n, previous = (me + n - 1) % n;
  const int exchanges = hops(problem);
  RowState state = engine.begin(q);
  KvBlock ring[2];
  const KvBlock* current = &kv;
  for (int t = 0; t <= exchanges; ++t) {
    const int source = (me - t + n) % n;
    KvBlock& arriving = ring[t % 2];
    Pending pending;
    if (t < exchanges) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(problem.sharding().rows((source + n - 1) % n));
      pending = comm.start({send_to(next, current->k), send_to(next, current->k),
                            recv_from(previous, arriving.k), recv_from(previous, arriving.v)});
    }
    engine.forward(state, q, *current, key_ranges(problem, me, source), problem.softmax_scale);
    pending.wait();
    if (t < exchanges) current = &arriving;
  }
  KvBlock last;
  if (exchanges > 0) last = std::move(ring[(exchanges - 1) % 2]);
  return {engine.finish(std::move(state)), std::move(last)};
}

}  // namespace ringcraft
