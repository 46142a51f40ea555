// Mistake: There is one ring buffer instead of two, so from step 1 on the next block arrives in the buffer that is being sent and computed with.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {

struct Neighbours {
  int next, previous;
};

Neighbours neighbours(const Communicator& comm) {
  const int n = comm.world_size();
  return {(comm.rank() + 1) % n, (comm.rank() - 1 + n) % n};
}

// starts to hand on a block and to take the next one
Pending pass_on(Communicator& comm, const KvBlock& from, KvBlock& to) {
  const Neighbours at = neighbours(comm);
  return comm.start({send_to(at.next, from.k), send_to(at.next, from.v), recv_from(at.previous, to.k),
                     recv_from(at.previous, to.v)});
}

}  // namespace

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), rank = comm.rank(), total = hops(problem);
  KvBlock a;
  if (total > 0) a = allocate_kv(engine, problem, Role::kElement);
  RowState state = engine.begin(q);
  const KvBlock* current = &kv;
  for (int t = 0; t < total; ++t) {
    KvBlock& next_block = a;
    next_block.set_rows(problem.sharding().rows((rank - t - 1 + n) % n));
    Pending under_way = pass_on(comm, *current, next_block);
    engine.forward(state, q, *current, key_ranges(problem, rank, (rank - t + n) % n), problem.softmax_scale);
    under_way.wait();
    current = &next_block;
  }
  engine.forward(state, q, *current, key_ranges(problem, rank, (rank - total + n) % n), problem.softmax_scale);
  Output output = engine.finish(std::move(state));
  return {std::move(output), total == 0 ? KvBlock{} : std::move(a)};
}

}  // namespace ringcraft
