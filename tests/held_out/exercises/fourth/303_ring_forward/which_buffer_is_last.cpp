// Mistake: The returned `last` is taken from ring buffer hops % 2 instead of (hops - 1) % 2: it is the block received one exchange earlier, that of rank r - (hops - 1), and empty when there was just one exchange. out and lse are right.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <array>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), me = comm.rank(), moves = hops(problem);
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  const Sharding sharding = problem.sharding();
  const auto owner_at = [&](int step) { return (me - step + n) % n; };

  RowState state = engine.begin(q);
  const auto compute = [&](const KvBlock& block, int step) {
    engine.forward(state, q, block, key_ranges(problem, me, owner_at(step)), problem.softmax_scale);
  };

  std::array<KvBlock, 2> ring;
  const KvBlock* held = &kv;
  for (int step = 0; step < moves; ++step) {
    KvBlock& inbox = ring[static_cast<std::size_t>(step % 2)];
    if (inbox.k.extents() == Extents{}) inbox = allocate_kv(engine, problem, Role::kElement);
    inbox.set_rows(sharding.rows(owner_at(step + 1)));
    Pending moving = comm.start({send_to(right, held->k), send_to(right, held->v),
                                 recv_from(left, inbox.k), recv_from(left, inbox.v)});
    compute(*held, step);
    moving.wait();
    held = &inbox;
  }
  compute(*held, moves);  // nothing arrives any more

  RingOutput result;
  result.output = engine.finish(std::move(state));
  if (moves > 0) result.last = std::move(ring[static_cast<std::size_t>(moves % 2)]);
  return result;
}

}  // namespace ringcraft
