// Mistake: Two mistakes. (1) Every rank makes world_size - 1 exchanges (and steps) instead of hops(problem), so windowed and packed problems send too many bytes and `last` is the block of rank r + 1. (2) The receives are listed v first, k second while the sends are k first, v second, so the sender's keys land in v and its values in k: every block is crossed after an odd number of hops.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <vector>
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
  const int rounds = n - 1;
  const Sharding sharding = problem.sharding();
  const auto around = [n](int r) { return (r + n) % n; };

  std::vector<KvBlock> ring;
  for (int i = 0; i < 2 && i < rounds; ++i) ring.push_back(allocate_kv(engine, problem, Role::kElement));

  RowState state = engine.begin(q);
  std::size_t at = 0;  // the ring buffer that arrives next
  const KvBlock* current = &kv;
  for (int t = 0;; ++t) {
    Pending pending;
    if (t < rounds) {
      KvBlock& in = ring[at];
      in.set_rows(sharding.rows(around(rank - t - 1)));
      const Op ops[] = {send_to(around(rank + 1), current->k), send_to(around(rank + 1), current->v),
                        recv_from(around(rank - 1), in.v), recv_from(around(rank - 1), in.k)};
      pending = comm.start(ops);
    }
    engine.forward(state, q, *current, key_ranges(problem, rank, around(rank - t)), problem.softmax_scale);
    pending.wait();
    if (t == rounds) break;
    current = &ring[at];
    if (t + 1 < rounds) at = 1 - at;
  }
  return {engine.finish(std::move(state)), rounds > 0 ? std::move(ring[at]) : KvBlock{}};
}

}  // namespace ringcraft
