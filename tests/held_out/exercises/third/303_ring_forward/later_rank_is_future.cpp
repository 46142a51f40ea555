// Mistake: under every mask that shows no key behind the query (causal, window) a block is skipped if its owner has a higher rank than this one, whatever the layout; in striped and zig-zag layouts visible keys of higher ranks are lost, contiguous shards are right.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

namespace {

// Ranks in a circle, and the block that came from `distance` places behind.
struct Circle {
  int size, me;
  int ahead() const { return (me + 1) % size; }
  int behind(int distance) const { return ((me - distance) % size + size) % size; }
};

}  // namespace

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const Circle circle{comm.world_size(), comm.rank()};
  const int exchanges = hops(problem);
  const Sharding sharding = problem.sharding();
  const bool causal = problem.mask.right == 0;

  RowState state = engine.begin(q);
  const auto compute = [&](const KvBlock& block, int owner) {
    if (causal && owner > circle.me) return;  // nothing to see there
    engine.forward(state, q, block, key_ranges(problem, circle.me, owner), problem.softmax_scale);
  };

  KvBlock current, arriving;
  for (int t = 0; t <= exchanges; ++t) {
    const KvBlock& block = t == 0 ? kv : current;
    if (t == exchanges) {
      compute(block, circle.behind(t));
      break;
    }
    if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
    arriving.set_rows(sharding.rows(circle.behind(t + 1)));
    Pending exchange =
        comm.start({send_to(circle.ahead(), block.k), recv_from(circle.behind(1), arriving.k),
                    send_to(circle.ahead(), block.v), recv_from(circle.behind(1), arriving.v)});
    compute(block, circle.behind(t));
    exchange.wait();
    std::swap(current, arriving);
  }
  return {engine.finish(std::move(state)), std::move(current)};
}

}  // namespace ringcraft
