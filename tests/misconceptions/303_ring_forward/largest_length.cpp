// RX15: always sends as many rows as the largest shard has.
// Fails: exact-bytes "theory says"
// Hint: How many bytes has the block of the smallest shard?
#include <algorithm>
#include <utility>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {
// The rows that both have, head by head.
void copy(const Buffer& from, Buffer& to) {
  const Extents &a = from.extents(), &b = to.extents();
  const auto row = static_cast<std::size_t>(a.width) * size_of(from.dtype());
  const auto count = static_cast<std::size_t>(std::min(a.rows, b.rows)) * row;
  for (Index head = 0; head < a.batch * a.heads; ++head)
    std::copy_n(from.bytes().begin() + head * a.rows * static_cast<Index>(row), count,
                to.bytes().begin() + head * b.rows * static_cast<Index>(row));
}
}  // namespace

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Method::kRing, Schedule::kForward, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const Sharding sharding = problem.sharding();
  RowState state = engine.begin(q);
  KvBlock buffers[2], whole, padded;
  const KvBlock* current = &kv;
  for (int t = 0; t <= exchanges; ++t) {
    KvBlock& arriving = buffers[t % 2];
    Pending exchange;
    if (t < exchanges) {
      if (t < 2) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(sharding.rows((rank - t - 1 + n) % n));
      whole = allocate_kv(engine, problem, Role::kElement);
      padded = allocate_kv(engine, problem, Role::kElement);
      copy(current->k, padded.k);
      copy(current->v, padded.v);
      exchange = comm.start({send_to(next, padded.k), send_to(next, padded.v), recv_from(previous, whole.k),
                             recv_from(previous, whole.v)});
    }
    const int source = (rank - t + n) % n;
    engine.forward(state, q, *current, key_ranges(problem, rank, source), problem.softmax_scale);
    exchange.wait();
    if (t < exchanges) {
      copy(whole.k, arriving.k);
      copy(whole.v, arriving.v);
    }
    if (t < exchanges) current = &arriving;
  }
  return {engine.finish(std::move(state)),
          exchanges > 0 ? std::move(buffers[(exchanges - 1) % 2]) : KvBlock{}};
}

}  // namespace ringcraft
