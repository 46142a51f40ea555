// Mistake: Under masks with right = 0 (causal, window) a block is not computed at all if its first position lies behind the first position of this rank's queries, instead of behind the last one; in the striped and zig-zag layouts this drops blocks (those of every later rank) whose keys later rows of this rank do see.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {

// Whether all keys of the block of `source` lie in the future of the queries of `rank`.
bool in_the_future(const Problem& problem, int rank, int source) {
  if (problem.mask.right != 0) return false;
  const Sharding sharding = problem.sharding();
  if (sharding.rows(rank) == 0 || sharding.rows(source) == 0) return true;
  return sharding.global_from_local(source, 0) > sharding.global_from_local(rank, 0);
}

}  // namespace

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int world = comm.world_size(), rank = comm.rank();
  const int last_step = hops(problem);
  const int next = (rank + 1) % world, previous = (rank - 1 + world) % world;

  KvBlock even, odd;
  const KvBlock* current = &kv;
  RowState state = engine.begin(q);
  int source = rank;
  for (int t = 0; t <= last_step; ++t) {
    const int coming = (source + world - 1) % world;
    KvBlock& arriving = t % 2 == 0 ? even : odd;
    Pending exchange;
    if (t != last_step) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(problem.sharding().rows(coming));
      exchange = comm.start({send_to(next, current->k), recv_from(previous, arriving.k),
                             send_to(next, current->v), recv_from(previous, arriving.v)});
    }
    // Skip the work, not the turn.
    if (!in_the_future(problem, rank, source))
      engine.forward(state, q, *current, key_ranges(problem, rank, source), problem.softmax_scale);
    exchange.wait();
    if (t != last_step) {
      current = &arriving;
      source = coming;
    }
  }
  Output output = engine.finish(std::move(state));
  if (last_step == 0) return {std::move(output), KvBlock{}};
  return {std::move(output), std::move(last_step % 2 == 1 ? even : odd)};
}

}  // namespace ringcraft
