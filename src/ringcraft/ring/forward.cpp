// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving. A block stops where no rank further along needs it; what would go on is empty.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"
#include "ringcraft/ring/route.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  // BEGIN SOLUTION 303 [ring_forward]
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const Route route(problem, rank, Schedule::kForward);

  RowState state = engine.begin(q);
  KvBlock buffers[2];            // the current block and the arriving one take turns
  const KvBlock* current = &kv;  // the caller's own block is read, never received into
  const KvBlock nothing;         // goes on instead of a block that no rank further along needs
  for (int t = 0; t <= exchanges; ++t) {
    KvBlock& arriving = buffers[t % 2];
    Pending exchange;
    if (t < exchanges) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(route.rows(t + 1));
      const KvBlock& leaving = route.onward(t) ? *current : nothing;
      exchange = comm.start({send_to(next, leaving.k), send_to(next, leaving.v),  //
                             recv_from(previous, arriving.k), recv_from(previous, arriving.v)});
    }
    const int source = (rank - t + n) % n;  // whose block this rank holds at step t
    engine.forward(state, q, *current, key_ranges(problem, rank, source), problem.softmax_scale);
    exchange.wait();
    if (t < exchanges) current = &arriving;
  }
  return {engine.finish(std::move(state)),
          exchanges > 0 ? std::move(buffers[(exchanges - 1) % 2]) : KvBlock{}};
  // END SOLUTION [ring_forward]
}

}  // namespace ringcraft
