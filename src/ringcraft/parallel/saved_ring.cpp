// Keeps the blocks that a ring's backward pass begins with.
#include "ringcraft/parallel/saved_ring.hpp"

#include <utility>

#include "ringcraft/ring/route.hpp"

namespace ringcraft {

SavedRing ring_forward_saving(Communicator& comm, BlockEngine& engine, const Problem& problem,
                              Schedule schedule, const Buffer& q, KvBlock kv) {
  const Route route(problem, comm.rank(), schedule);
  auto [output, last] = ring_forward(comm, engine, problem, q, kv);
  const bool from_last = schedule == Schedule::kReversed && route.exchanges() > 0;
  SavedRing saved{std::move(output), route.source(0), std::move(from_last ? last : kv), {}};
  if (route.keeps_own()) saved.own = std::move(kv);
  return saved;
}

}  // namespace ringcraft
