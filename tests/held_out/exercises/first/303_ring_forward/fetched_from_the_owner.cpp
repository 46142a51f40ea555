// Mistake: Every step sends the own block straight to the rank t + 1 places on and receives from the owner, t + 1 places back, instead of handing the block in hand to the next rank.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <utility>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), me = comm.rank(), exchanges = hops(problem);
  const Sharding sharding = problem.sharding();
  const auto rank_before = [&](int steps) { return ((me - steps) % n + n) % n; };

  RowState state = engine.begin(q);
  KvBlock even, odd;
  KvBlock* const buffers[] = {&even, &odd};
  const KvBlock* hand = &kv;
  for (int t = 0;; ++t) {
    Pending moving;
    KvBlock* const coming = buffers[t % 2];
    if (t < exchanges) {
      if (t < 2) *coming = allocate_kv(engine, problem, Role::kElement);
      coming->set_rows(sharding.rows(rank_before(t + 1)));
      const int to = (me + t + 1) % n, from = rank_before(t + 1);
      moving = comm.start(
          {send_to(to, kv.k), send_to(to, kv.v), recv_from(from, coming->k), recv_from(from, coming->v)});
    }
    engine.forward(state, q, *hand, key_ranges(problem, me, rank_before(t)), problem.softmax_scale);
    moving.wait();
    if (t == exchanges) break;
    hand = coming;
  }

  RingOutput result{engine.finish(std::move(state)), {}};
  if (exchanges > 0) result.last = std::move(*buffers[(exchanges - 1) % 2]);
  return result;
}

}  // namespace ringcraft
