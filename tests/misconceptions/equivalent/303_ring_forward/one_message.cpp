// Equivalent: K and V travel in one message.
#include <algorithm>
#include <utility>
#include <vector>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Method::kRing, Schedule::kForward, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const Sharding sharding = problem.sharding();
  RowState state = engine.begin(q);
  KvBlock buffers[2];
  std::vector<std::byte> parcel, delivered;
  const KvBlock* current = &kv;
  for (int t = 0; t <= exchanges; ++t) {
    KvBlock& arriving = buffers[t % 2];
    Pending exchange;
    if (t < exchanges) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(sharding.rows((rank - t - 1 + n) % n));
      parcel.assign(current->k.bytes().begin(), current->k.bytes().end());
      parcel.insert(parcel.end(), current->v.bytes().begin(), current->v.bytes().end());
      delivered.resize(arriving.k.bytes().size() + arriving.v.bytes().size());
      exchange = comm.start({send_to(next, parcel), recv_from(previous, delivered)});
    }
    const int source = (rank - t + n) % n;
    engine.forward(state, q, *current, key_ranges(problem, rank, source), problem.softmax_scale);
    exchange.wait();
    if (t < exchanges) {
      const auto middle = delivered.begin() + static_cast<std::ptrdiff_t>(arriving.k.bytes().size());
      std::copy(delivered.begin(), middle, arriving.k.bytes().begin());
      std::copy(middle, delivered.end(), arriving.v.bytes().begin());
    }
    if (t < exchanges) current = &arriving;
  }
  return {engine.finish(std::move(state)),
          exchanges > 0 ? std::move(buffers[(exchanges - 1) % 2]) : KvBlock{}};
}

}  // namespace ringcraft
