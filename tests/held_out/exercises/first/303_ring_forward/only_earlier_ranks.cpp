// Mistake: A rank computes only with the blocks of ranks up to its own and leaves out those of later ranks, whatever mask and layout say.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int rank = comm.rank();
  const int size = comm.world_size();
  const int last_step = hops(problem);
  const Sharding sharding = problem.sharding();

  KvBlock buffers[2];
  for (int i = 0; i < 2 && i < last_step; i++) buffers[i] = allocate_kv(engine, problem, Role::kElement);

  RowState state = engine.begin(q);
  const KvBlock* in_hand = &kv;
  int owner = rank;
  for (int step = 0;; step++) {
    const int owner_before = (owner + size - 1) % size;
    Pending exchange;
    if (step != last_step) {
      KvBlock& to = buffers[step % 2];
      to.set_rows(sharding.rows(owner_before));
      exchange = comm.start({recv_from((rank + size - 1) % size, to.k), recv_from((rank + size - 1) % size, to.v),
                             send_to((rank + 1) % size, in_hand->k), send_to((rank + 1) % size, in_hand->v)});
    }
    if (owner <= rank)
      engine.forward(state, q, *in_hand, key_ranges(problem, rank, owner), problem.softmax_scale);
    exchange.wait();
    if (step == last_step) break;
    in_hand = &buffers[step % 2];
    owner = owner_before;
  }
  RingOutput result;
  result.output = engine.finish(std::move(state));
  if (last_step > 0) result.last = std::move(buffers[(last_step - 1) % 2]);
  return result;
}

}  // namespace ringcraft
