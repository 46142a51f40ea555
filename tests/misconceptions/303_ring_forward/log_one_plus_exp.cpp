// MG7: merges lse as a + log(1 + exp(b - a)), whichever of the two is the larger.
// Fails: hot "n=3 contiguous causal"
// Hint: Which of the two may be the larger one inside exp?
#include <cmath>
#include <utility>

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

  Output whole = engine.finish(engine.begin(q));
  const auto out = whole.out.values<double>(), lse = whole.lse.values<double>();
  const auto columns = static_cast<std::size_t>(problem.shape.head_dim);
  KvBlock buffers[2];
  const KvBlock* current = &kv;
  for (int t = 0; t <= exchanges; ++t) {
    KvBlock& arriving = buffers[t % 2];
    Pending exchange;
    if (t < exchanges) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(sharding.rows((rank - t - 1 + n) % n));
      exchange = comm.start({send_to(next, current->k), send_to(next, current->v),  //
                             recv_from(previous, arriving.k), recv_from(previous, arriving.v)});
    }
    const int source = (rank - t + n) % n;
    RowState state = engine.begin(q);
    engine.forward(state, q, *current, key_ranges(problem, rank, source), problem.softmax_scale);
    const Output part = engine.finish(std::move(state));
    const auto part_out = part.out.values<double>(), part_lse = part.lse.values<double>();
    for (std::size_t i = 0; i < lse.size(); ++i) {
      if (std::isinf(part_lse[i])) continue;
      const double share = std::isinf(lse[i]) ? 1 : 1 / (1 + std::exp(lse[i] - part_lse[i]));
      for (std::size_t c = i * columns; c < (i + 1) * columns; ++c) out[c] += share * (part_out[c] - out[c]);
      lse[i] = std::isinf(lse[i]) ? part_lse[i] : lse[i] + std::log(1 + std::exp(part_lse[i] - lse[i]));
    }
    exchange.wait();
    if (t < exchanges) current = &arriving;
  }
  return {std::move(whole), exchanges > 0 ? std::move(buffers[(exchanges - 1) % 2]) : KvBlock{}};
}

}  // namespace ringcraft
