// Mistake: normalised outputs of the blocks are joined by their lse, but the joined lse is stored before the weight of the old output is computed from it, so the old output keeps the weight 1 instead of exp(old lse - joined lse); out is too large in every row that sees more than one block, lse is right.
// Lesson 303: the ring's forward pass. Every rank keeps its queries; KV blocks walk from rank to rank,
// computing and sending overlap, and no rank ever holds more than its own block, the current one and the one
// arriving.
#include <cmath>
#include <limits>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

namespace {

// total becomes the attention over the keys of both.
template <class T>
void fold(Output& total, const Output& piece) {
  const auto out = total.out.values<T>(), lse = total.lse.values<T>();
  const auto more = piece.out.values<T>(), its_lse = piece.lse.values<T>();
  const auto width = static_cast<std::size_t>(total.out.extents().width);
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (std::size_t row = 0; row < lse.size(); ++row) {
    const T fresh = its_lse[row];
    if (fresh == kNothing) continue;
    T& held = lse[row];
    const T top = std::fmax(held, fresh);
    const T joined = top + std::log(std::exp(held - top) + std::exp(fresh - top));
    held = joined;
    const T keep = std::exp(held - joined), take = std::exp(fresh - joined);
    for (std::size_t c = row * width; c < (row + 1) * width; ++c) out[c] = keep * out[c] + take * more[c];
  }
}

}  // namespace

RingOutput ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
                        const KvBlock& kv) {
  refuse(problem, Pass::kForward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, kv);
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const Sharding sharding = problem.sharding();
  const auto source = [&](int t) { return (rank - t + n) % n; };

  Output total;
  const auto attend = [&](const KvBlock& block, int t) {
    RowState alone = engine.begin(q);
    engine.forward(alone, q, block, key_ranges(problem, rank, source(t)), problem.softmax_scale);
    Output piece = engine.finish(std::move(alone));
    if (t == 0) {
      total = std::move(piece);
    } else if (piece.out.dtype() == DType::kFloat64) {
      fold<double>(total, piece);
    } else {
      fold<float>(total, piece);
    }
  };

  KvBlock ring[2];
  for (int t = 0; t < exchanges; ++t) {
    const KvBlock& block = t == 0 ? kv : ring[(t - 1) % 2];
    KvBlock& next_block = ring[t % 2];
    if (t < 2) next_block = allocate_kv(engine, problem, Role::kElement);
    next_block.set_rows(sharding.rows(source(t + 1)));
    Pending hop = comm.start({send_to(source(n - 1), block.k), send_to(source(n - 1), block.v),
                              recv_from(source(1), next_block.k), recv_from(source(1), next_block.v)});
    attend(block, t);
    hop.wait();
  }
  if (exchanges == 0) {
    attend(kv, 0);
    return {std::move(total), {}};
  }
  KvBlock& last = ring[(exchanges - 1) % 2];
  attend(last, exchanges);
  return {std::move(total), std::move(last)};
}

}  // namespace ringcraft
