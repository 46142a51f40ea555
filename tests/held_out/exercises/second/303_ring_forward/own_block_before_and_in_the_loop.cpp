// Mistake: the own block is merged into the state before the ring starts and again in the first step, instead of once.
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
  const Sharding sharding = problem.sharding();
  const auto owner = [&](int t) { return (rank - t + n) % n; };
  KvBlock buffers[2];
  for (int i = 0; i < 2 && i < exchanges; ++i) buffers[i] = allocate_kv(engine, problem, Role::kElement);

  RowState state = engine.begin(q);
  engine.forward(state, q, kv, key_ranges(problem, rank, rank), problem.softmax_scale);

  const KvBlock* current = &kv;
  for (int t = 0; t < exchanges; ++t) {
    KvBlock& arriving = buffers[t % 2];
    arriving.set_rows(sharding.rows(owner(t + 1)));
    Pending exchange = comm.start({send_to((rank + 1) % n, current->k), send_to((rank + 1) % n, current->v),
                                   recv_from(owner(1), arriving.k), recv_from(owner(1), arriving.v)});
    engine.forward(state, q, *current, key_ranges(problem, rank, owner(t)), problem.softmax_scale);
    exchange.wait();
    current = &arriving;
  }
  if (exchanges > 0)
    engine.forward(state, q, *current, key_ranges(problem, rank, owner(exchanges)), problem.softmax_scale);
  KvBlock last = exchanges > 0 ? std::move(buffers[(exchanges - 1) % 2]) : KvBlock{};
  return {engine.finish(std::move(state)), std::move(last)};
}

}  // namespace ringcraft
