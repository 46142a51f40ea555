// Counts the parcels and the memory of a hybrid on paper.
#include "ringcraft/parallel/hybrid/hybrid_theory.hpp"

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "ringcraft/parallel/ledger.hpp"
#include "ringcraft/ring/route.hpp"
#include "ringcraft/ring/theory.hpp"

namespace ringcraft {
namespace {

using enum Role;

// One rank's pass on paper.
class HybridCount {
 public:
  HybridCount(const Problem& problem, int degree, Schedule schedule, int rank, RoleBytes bytes)
      : problem_(problem),
        column_(column_problem(problem, degree)),
        degree_(degree),
        schedule_(schedule),
        rank_(rank),
        bytes_(bytes),
        ledger_(bytes),
        rows_(problem.sharding().rows(rank)),
        all_rows_(column_.sharding().rows(rank / degree)) {}

  Index sent = 0, messages = 0;
  Index peak() const { return ledger_.peak(); }

  void forward(Index ring_peak) {
    const Shape& s = problem_.shape;
    ledger_.hold(kElement, query(s.heads, rows_) + kv(s.kv_heads, rows_));
    to_heads(kElement, query(heads(), 1));
    ledger_.drop(kElement, query(s.heads, rows_));
    to_heads(kElement, kv(kv_heads(), 1), 2);
    ledger_.drop(kElement, kv(s.kv_heads, rows_));
    ledger_.reach(ring_peak);
    ledger_.drop(kElement, kv(kv_heads(), all_rows_));
    ledger_.hold(kElement, saved_kv());
    ledger_.hold(kAccumulator, query(heads(), all_rows_) + numbers(heads(), all_rows_));  // out, lse
    to_rows(query(heads(), 1) + numbers(heads(), 1), query(s.heads, rows_) + numbers(s.heads, rows_), 2);
  }

  void backward(Index ring_peak) {
    const Shape& s = problem_.shape;
    const Index q = query(heads(), all_rows_);
    ledger_.hold(kElement, q + saved_kv());
    ledger_.hold(kAccumulator, q + numbers(heads(), all_rows_));                  // out, lse by heads,
    ledger_.hold(kAccumulator, query(s.heads, rows_) + numbers(s.heads, rows_));  // and by rows
    ledger_.hold(kElement, query(s.heads, rows_));                                // dout
    const Index by_rows = in_bytes(kAccumulator, query(s.heads, rows_) + numbers(s.heads, rows_)) +
                          in_bytes(kElement, query(s.heads, rows_));
    to_heads(kElement, query(heads(), 1));
    ledger_.reach(ring_peak + by_rows);
    ledger_.drop(kElement, q);
    const Index dkv = kv(kv_heads(), column_.sharding().largest_rows());
    ledger_.hold(kAccumulator, q + dkv);
    to_rows(query(heads(), 1), query(s.heads, rows_), 1);
    ledger_.drop(kAccumulator, q);
    to_rows(kv(kv_heads(), 1), kv(s.kv_heads, rows_), 2, replicated());
  }

 private:
  Index heads() const { return column_.shape.heads; }
  Index kv_heads() const { return column_.shape.kv_heads; }
  Index query(Index heads, Index rows) const {
    return problem_.shape.batch * heads * rows * problem_.shape.head_dim;
  }
  Index kv(Index heads, Index rows) const { return 2 * query(heads, rows); }
  Index numbers(Index heads, Index rows) const { return problem_.shape.batch * heads * rows; }
  Index in_bytes(Role role, Index elements) const {
    return elements * static_cast<Index>(role == kElement ? bytes_.element : bytes_.accumulator);
  }
  bool replicated() const { return problem_.shape.kv_heads < degree_; }

  // The KV blocks that the ring keeps for its backward pass.
  Index saved_kv() const {
    const Route route(column_, rank_ / degree_, schedule_);
    const bool from_last = schedule_ == Schedule::kReversed && route.exchanges() > 0;
    const Index own = kv(kv_heads(), all_rows_);
    const Index last = kv(kv_heads(), column_.sharding().largest_rows());
    return (from_last ? last : own) + (route.keeps_own() ? own : 0);
  }

  Index rows_of(int phase) const {
    const int row = rank_ / degree_ * degree_, column = rank_ % degree_;
    return problem_.sharding().rows(row + (column + phase + degree_) % degree_);
  }
  void sends(Role role, Index elements, int tensors) {
    sent += in_bytes(role, elements);
    messages += elements > 0 ? tensors : 0;
  }

  // Tensors with so many numbers per row and neighbour, all rows of which come.
  void to_heads(Role role, Index per_row, int tensors = 1) {
    ledger_.hold(role, per_row * all_rows_);
    for (int phase = 1; phase < degree_; ++phase) {
      sends(role, per_row * rows_, tensors);
      ledger_.hold(role, per_row * (rows_ + rows_of(-phase)));
      ledger_.drop(role, per_row * (rows_ + rows_of(-phase)));
    }
  }
  // And back, into tensors of `whole` numbers.
  void to_rows(Index per_row, Index whole, int tensors, bool sums = false) {
    ledger_.hold(kAccumulator, whole);
    const Index group = sums ? degree_ / problem_.shape.kv_heads : 1;
    const auto kv_head = [&](int phase) { return ((rank_ + phase) % degree_ + degree_) % degree_ / group; };
    for (int phase = 0; phase < degree_; ++phase) {
      const Index parcels = per_row * (rows_of(phase) + (phase > 0 ? rows_ : 0));
      if (phase > 0) sends(kAccumulator, per_row * rows_of(phase), tensors);
      ledger_.hold(kAccumulator, parcels);
      bool there = false;
      for (int earlier = 0; sums && earlier < phase; ++earlier)
        there = there || kv_head(-earlier) == kv_head(-phase);
      if (there) {
        ledger_.hold(kAccumulator, per_row * rows_);
        ledger_.drop(kAccumulator, per_row * rows_);
      }
      ledger_.drop(kAccumulator, parcels);
    }
  }

  const Problem& problem_;
  const Problem column_;
  const int degree_;
  const Schedule schedule_;
  const int rank_;
  const RoleBytes bytes_;
  Ledger ledger_;
  const Index rows_, all_rows_;
};

}  // namespace

int degree_of(const Problem& problem, const MethodOptions& options) {
  return options.ulysses == 0 ? problem.world_size : options.ulysses;
}

Theory hybrid_theory(const Problem& problem, const MethodOptions& options, Pass pass, RoleBytes bytes) {
  const int degree = degree_of(problem, options);
  const Problem column = column_problem(problem, degree);
  const Theory ring = pass == Pass::kForward ? forward_theory(column, bytes)
                                             : backward_theory(column, options.schedule, bytes);
  Theory theory(problem.world_size);
  theory.steps = ring.steps;
  theory.heads = 1.0 / degree;
  for (int rank = 0; rank < problem.world_size; ++rank) {
    const auto r = static_cast<std::size_t>(rank), row = static_cast<std::size_t>(rank / degree);
    HybridCount count(problem, degree, options.schedule, rank, bytes);
    pass == Pass::kForward ? count.forward(ring.peak_bytes[row]) : count.backward(ring.peak_bytes[row]);
    theory.bytes_sent[r] = ring.bytes_sent[row] + count.sent;
    theory.messages_sent[r] = ring.messages_sent[row] + count.messages;
    theory.pairs[r] = ring.pairs[row];
    theory.peak_bytes[r] = count.peak();
  }
  return theory;
}

}  // namespace ringcraft
