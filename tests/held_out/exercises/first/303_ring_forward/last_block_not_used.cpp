// Mistake: The block that arrives in the last exchange is returned as last but never computed with, unless there is no exchange at all.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <utility>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = problem.world_size, rank = comm.rank();
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const int exchanges = hops(problem);

  KvBlock ring[2];
  const KvBlock* current = &kv;
  int source = rank;
  RowState state = engine.begin(q);
  for (int t = 0; t < exchanges; ++t) {
    const int arriving = (source + n - 1) % n;
    KvBlock& buffer = ring[t % 2];
    if (t < 2) buffer = allocate_kv(engine, problem, Role::kElement);
    buffer.set_rows(problem.sharding().rows(arriving));
    Pending pending = comm.start({send_to(next, current->k), recv_from(previous, buffer.k),
                                  send_to(next, current->v), recv_from(previous, buffer.v)});
    engine.forward(state, q, *current, key_ranges(problem, rank, source), problem.softmax_scale);
    pending.wait();
    current = &buffer;
    source = arriving;
  }
  if (exchanges == 0)
    engine.forward(state, q, *current, key_ranges(problem, rank, source), problem.softmax_scale);

  RingOutput result;
  result.output = engine.finish(std::move(state));
  if (exchanges > 0) result.last = std::move(ring[(exchanges - 1) % 2]);
  return result;
}

}  // namespace ringcraft
