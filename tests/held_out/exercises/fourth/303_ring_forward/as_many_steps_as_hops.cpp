// Mistake: The loop computes max(1, hops) steps instead of hops + 1, so with at least one exchange the block that arrives in the last exchange (that of rank r - hops) is received and returned as `last` but never merged into out and lse.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <algorithm>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {

struct Neighbours {
  int next, previous;
};

Neighbours neighbours_of(const Communicator& comm) {
  const int n = comm.world_size();
  return {(comm.rank() + 1) % n, (comm.rank() + n - 1) % n};
}

}  // namespace

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const auto [next, previous] = neighbours_of(comm);
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int steps = std::max(1, exchanges);  // our own block is always computed
  KvBlock spare[2];
  const KvBlock* block = &kv;
  RowState running = engine.begin(q);

  for (int step = 0; step < steps; ++step) {
    const int source = (rank + n - step) % n;
    const bool moves = step < exchanges;
    KvBlock* const landing = &spare[step & 1];
    Pending traffic;
    if (moves) {
      if (landing->k.extents() == Extents{}) *landing = allocate_kv(engine, problem, Role::kElement);
      landing->set_rows(problem.sharding().rows((source + n - 1) % n));
      traffic = comm.start({recv_from(previous, landing->k), recv_from(previous, landing->v),
                            send_to(next, block->k), send_to(next, block->v)});
    }
    engine.forward(running, q, *block, key_ranges(problem, rank, source), problem.softmax_scale);
    traffic.wait();
    if (moves) block = landing;
  }

  RingOutput result{engine.finish(std::move(running)), {}};
  if (exchanges > 0) result.last = std::move(spare[(exchanges - 1) & 1]);
  return result;
}

}  // namespace ringcraft
