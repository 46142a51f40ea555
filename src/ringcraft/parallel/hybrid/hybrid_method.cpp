// Ulysses, and the hybrid of Ulysses and ring, as methods: an all-to-all gives every rank of a row some heads
// of the tokens of all, rings along the columns attend, and an all-to-all brings the results back. Ulysses is
// the hybrid with a single row, the ring the one with rows of one rank.
#include <string>
#include <utility>

#include "ringcraft/comm/group.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/hybrid/head_exchange.hpp"
#include "ringcraft/parallel/hybrid/hybrid_theory.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "ringcraft/parallel/recording.hpp"
#include "ringcraft/parallel/saved_ring.hpp"

namespace ringcraft {
namespace {

// One rank's place in the grid.
struct Place {
  Place(Communicator& comm, BlockEngine& engine, const Problem& problem, int degree)
      : groups(grid_groups(problem.world_size, degree, comm.rank())),
        row(comm, groups.row),
        ring(comm, groups.column),
        column(column_problem(problem, degree)),
        exchange(row, engine, problem, comm.rank()) {}

  GridGroups groups;
  Group row, ring;
  Problem column;
  HeadExchange exchange;
};

// All tensors by heads.
struct Saved {
  Buffer q;
  SavedRing ring;  // of the column
};

// Records what the forward pass has left.
void hold_by_heads(RankPlace& place, const Problem& problem, const Place& grid, const Saved& saved) {
  const int degree = grid.row.world_size(), row = grid.ring.rank();
  const DealtHeads heads = dealt_heads(problem.shape, degree, grid.row.rank());
  const HeldPart queries{degree, heads.query.first, heads.query.count},
      keys{degree, heads.kv.first, heads.kv.count};
  hold(place.trace(), "q", row, saved.q, queries);
  hold(place.trace(), saved.ring.owner, saved.ring.first, keys);
  hold(place.trace(), row, saved.ring.own, keys);
}

// Numbers of neighbours among which both kinds of heads can be dealt.
bool fits(const Shape& shape, int degree) {
  return shape.heads % degree == 0 && (shape.kv_heads % degree == 0 || degree % shape.kv_heads == 0);
}

void refuse_degree(const Problem& problem, const char* where, int degree) {
  const Shape& shape = problem.shape;
  if (fits(shape, degree)) return;
  int best = degree;
  while (!fits(shape, best) || problem.world_size % best != 0) --best;
  throw Error(
      where,
      "query heads that are a multiple of " + std::to_string(degree) +
          ", and KV heads that are a multiple or a divisor of it",
      std::to_string(shape.heads) + " query heads and " + std::to_string(shape.kv_heads) + " KV heads",
      best == 1 ? "use the ring or all-gather, which take any heads"
                : "use hybrid with ulysses = " + std::to_string(best) +
                      ", or the ring or all-gather, which take any heads");
}

void refuse_ulysses(const Problem& problem, const MethodOptions& options) {
  if (options.ulysses != 0 && options.ulysses != problem.world_size)
    throw Error("ulysses", "all " + std::to_string(problem.world_size) + " ranks",
                std::to_string(options.ulysses), "use hybrid for a smaller number");
  refuse_degree(problem, "ulysses", problem.world_size);
}

void refuse_hybrid(const Problem& problem, const MethodOptions& options) {
  if (options.ulysses < 1 || problem.world_size % options.ulysses != 0)
    throw Error("ulysses", "a number that divides the " + std::to_string(problem.world_size) + " ranks",
                options.ulysses == 0 ? "none" : std::to_string(options.ulysses),
                "say how many neighbours share the heads, 1 to " + std::to_string(problem.world_size));
  refuse_degree(problem, "hybrid", options.ulysses);
}

Forward forward(RankPlace& place, const Problem& problem, const MethodOptions& options, Buffer q,
                KvBlock kv) {
  BlockEngine& engine = place.engine();
  Place grid(place.comm(), engine, problem, degree_of(problem, options));
  Buffer q_by_heads = grid.exchange.queries_by_heads(q, Role::kElement);
  q = {};
  KvBlock own = grid.exchange.kv_by_heads(kv);
  kv = {};
  SavedRing ring =
      ring_forward_saving(grid.ring, engine, grid.column, options.schedule, q_by_heads, std::move(own));
  Output output = grid.exchange.queries_by_rows(ring.output);
  return {std::move(output), std::make_shared<Saved>(Saved{std::move(q_by_heads), std::move(ring)})};
}

Gradients backward(RankPlace& place, const Problem& problem, const MethodOptions& options,
                   const Forward& forward, const Buffer& dout) {
  const Saved& saved = *static_cast<const Saved*>(forward.saved.get());
  BlockEngine& engine = place.engine();
  Place grid(place.comm(), engine, problem, degree_of(problem, options));
  hold_by_heads(place, problem, grid, saved);
  Gradients by_heads;
  {
    const Buffer dout_by_heads = grid.exchange.queries_by_heads(dout, Role::kElement);
    by_heads = ring_backward(grid.ring, engine, grid.column, options.schedule, saved.q, saved.ring.first,
                             saved.ring.own, saved.ring.output, dout_by_heads);
  }
  Output dq{std::move(by_heads.dq), {}};
  Gradients by_rows;
  by_rows.dq = std::move(grid.exchange.queries_by_rows(dq).out);
  dq = {};
  by_rows.dkv = grid.exchange.gradients_by_rows(by_heads.dkv);
  return by_rows;
}

}  // namespace

constinit const Method kUlysses{
    "ulysses", kTakesSchedule | kTakesUlysses, refuse_ulysses, forward, backward, hybrid_theory};
constinit const Method kHybrid{"hybrid",     kTakesSchedule | kTakesUlysses, refuse_hybrid, forward, backward,
                               hybrid_theory};

}  // namespace ringcraft
