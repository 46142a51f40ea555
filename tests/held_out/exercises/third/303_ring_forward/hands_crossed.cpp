// Mistake: every hop sends k and then v but receives the first message into the arriving block's v and the second into its k, so a block has k and v exchanged after an odd number of hops (steps 1, 3, ..., and in the returned last if hops is odd) and is right again after an even number.
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
  const int ranks = comm.world_size(), me = comm.rank();
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  const auto shards = problem.sharding();

  std::array<KvBlock, 2> slots;
  const KvBlock* held = &kv;
  int owner = me, filled = -1;
  RowState running = engine.begin(q);

  for (int hops_left = hops(problem); hops_left >= 0; --hops_left) {
    const int owner_of_next = (owner + ranks - 1) % ranks;
    const int slot = filled == 0 ? 1 : 0;
    Pending transfer;
    if (hops_left > 0) {
      KvBlock& into = slots[static_cast<std::size_t>(slot)];
      if (into.k.extents() == Extents{}) into = allocate_kv(engine, problem, Role::kElement);
      into.set_rows(shards.rows(owner_of_next));
      transfer = comm.start({
          recv_from(left, into.v),
          recv_from(left, into.k),
          send_to(right, held->k),
          send_to(right, held->v),
      });
    }
    engine.forward(running, q, *held, key_ranges(problem, me, owner), problem.softmax_scale);
    if (hops_left > 0) {
      transfer.wait();
      held = &slots[static_cast<std::size_t>(slot)];
      filled = slot;
      owner = owner_of_next;
    }
  }

  RingOutput result{engine.finish(std::move(running)), {}};
  if (filled >= 0) result.last = std::move(slots[static_cast<std::size_t>(filled)]);
  return result;
}

}  // namespace ringcraft
