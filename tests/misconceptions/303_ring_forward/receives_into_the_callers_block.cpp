// RX17: receives into the block of the caller.
// Fails: inputs-unchanged "rank 0 changed its argument kv"
// Hint: Whose memory is it, and who needs its contents later?
#include <algorithm>
#include <utility>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {
void exchange(Communicator& comm, int next, int previous, const Buffer& k, const Buffer& v,
              KvBlock& arriving) {
  comm.start({send_to(next, k), send_to(next, v), recv_from(previous, arriving.k),
              recv_from(previous, arriving.v)})
      .wait();
}
}  // namespace

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const Sharding sharding = problem.sharding();
  RowState state = engine.begin(q);
  KvBlock buffers[2];
  KvBlock& own = const_cast<KvBlock&>(kv);
  const KvBlock first{kv.k.clone(), kv.v.clone()};
  const KvBlock* current = &first;
  for (int t = 0; t <= exchanges; ++t) {
    KvBlock& arriving = buffers[t % 2];
    if (t < exchanges) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(sharding.rows((rank - t - 1 + n) % n));
      exchange(comm, next, previous, current->k, current->v, arriving);
      if (t == 0 && arriving.k.bytes().size() == own.k.bytes().size()) {
        std::copy(arriving.k.bytes().begin(), arriving.k.bytes().end(), own.k.bytes().begin());
        std::copy(arriving.v.bytes().begin(), arriving.v.bytes().end(), own.v.bytes().begin());
      }
    }
    const int source = (rank - t - (t < exchanges ? 1 : 0) + n) % n;
    if (t == 0) engine.forward(state, q, first, key_ranges(problem, rank, rank), problem.softmax_scale);
    if (t < exchanges)
      engine.forward(state, q, arriving, key_ranges(problem, rank, source), problem.softmax_scale);
    if (t < exchanges) current = &arriving;
  }
  return {engine.finish(std::move(state)),
          exchanges > 0 ? std::move(buffers[(exchanges - 1) % 2]) : KvBlock{}};
}

}  // namespace ringcraft
