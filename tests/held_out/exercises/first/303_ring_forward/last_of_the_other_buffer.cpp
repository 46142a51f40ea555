// Mistake: last is taken from ring buffer hops % 2, which holds the block before the last one or nothing, instead of from (hops - 1) % 2.
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
  const int n = comm.world_size();
  const int c = hops(problem);
  const auto wrap = [n](int r) { return (r % n + n) % n; };
  const int right = wrap(comm.rank() + 1), left = wrap(comm.rank() - 1);

  KvBlock ring[2];
  bool made[2] = {false, false};
  const KvBlock* current = &kv;
  RowState state = engine.begin(q);
  for (int t = 0; t <= c; ++t) {
    const int source = wrap(comm.rank() - t);
    const KeyRanges ranges = key_ranges(problem, comm.rank(), source);
    if (t == c) {
      engine.forward(state, q, *current, ranges, problem.softmax_scale);
      break;
    }
    const std::size_t slot = std::size_t(t % 2);
    if (!made[slot]) ring[slot] = allocate_kv(engine, problem, Role::kElement);
    made[slot] = true;
    ring[slot].set_rows(problem.sharding().rows(wrap(source - 1)));
    Pending p = comm.start({send_to(right, current->k), send_to(right, current->v), recv_from(left, ring[slot].k),
                            recv_from(left, ring[slot].v)});
    engine.forward(state, q, *current, ranges, problem.softmax_scale);
    p.wait();
    current = &ring[slot];
  }
  Output output = engine.finish(std::move(state));
  if (c == 0) return {std::move(output), KvBlock{}};
  return {std::move(output), std::move(ring[c % 2])};
}

}  // namespace ringcraft
