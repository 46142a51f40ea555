// Recognises running states (O, m, l) with wrong factors: a grammar of the rescaled quantity, the side, the
// wrong factor, and the merges concerned: of all blocks, inside nodes or between them.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "verify/diagnose/solve/solve.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

enum class Summed : std::uint8_t { kSum, kOut, kBoth };
enum class Side : std::uint8_t { kBefore, kJoining, kBoth };

// The factor that is used.
enum class Taken : std::uint8_t {
  kNone,
  kTwice,
  kInverse,
  kBase2,
  kOtherSide,
  // The factor of another row:
  kHeadZero,
  kLastHead,
  kNextHead,
  kHeadBefore,
  kBatchZero,
  kFirstRow,
  kLastRow,
  kNextRow,
  kRowBefore,
};

constexpr const char* kRowWords[] = {"head 0",
                                     "the last head",
                                     "the next head",
                                     "the head before",
                                     "batch entry 0",
                                     "the first row of the shard",
                                     "the last row of the shard",
                                     "the next row",
                                     "the row before"};

// The merges that are wrong.
enum class Merges : std::uint8_t { kAll, kBetweenNodes, kInsideNodes };

struct WrongFactor {
  Summed part;
  Side side;
  Taken factor;
  Merges scope = Merges::kAll;
  int node = 1;            // ranks of a node
  bool ascending = false;  // blocks are merged in the order of ranks, not of steps
  bool all_steps = true;   // steps without a visible pair on the rank rescale, too
};

struct RunningState {
  std::vector<double> out;
  double max = -HUGE_VAL, sum = 0;
};

// exp(from - to), and 0 for a state that has seen nothing.
double factor_of(double from, double to) { return from == -HUGE_VAL ? 0.0 : std::exp(from - to); }

double twisted_factor(Taken factor, double right, double other) {
  switch (factor) {
    case Taken::kNone:
      return 1;
    case Taken::kTwice:
      return right * right;
    case Taken::kInverse:
      return right == 0 ? 0 : 1 / right;
    case Taken::kBase2:
      return right == 0 ? 0 : std::exp2(std::log(right));
    default:
      return other;
  }
}

// Performs one merge; `old_other` and `new_other` are the factors of the row that is read instead.
void join(RunningState& state, const RunningState& block, const WrongFactor* wrong, double old_other,
          double new_other) {
  const double larger = std::max(state.max, block.max);
  const double old_right = factor_of(state.max, larger), new_right = factor_of(block.max, larger);
  const auto pick = [&](Side side, Summed part, double right, double other) {
    const bool is_wrong = wrong != nullptr && (wrong->side == side || wrong->side == Side::kBoth) &&
                          (wrong->part == part || wrong->part == Summed::kBoth);
    return is_wrong ? twisted_factor(wrong->factor, right, other) : right;
  };
  const bool crossed = wrong != nullptr && wrong->factor == Taken::kOtherSide;
  const double old_else = crossed ? new_right : old_other, new_else = crossed ? old_right : new_other;
  const double old_out = pick(Side::kBefore, Summed::kOut, old_right, old_else),
               new_out = pick(Side::kJoining, Summed::kOut, new_right, new_else);
  for (std::size_t c = 0; c < state.out.size(); ++c)
    state.out[c] = old_out * state.out[c] + new_out * block.out[c];
  state.sum = pick(Side::kBefore, Summed::kSum, old_right, old_else) * state.sum +
              pick(Side::kJoining, Summed::kSum, new_right, new_else) * block.sum;
  state.max = larger;
}

class Rescaling {
 public:
  explicit Rescaling(const Evidence& e)
      : e_(e),
        ring_(e.problem, e.inputs, e.oracle.value, e.place, e.exponents()),
        sample_(sample_of(e, TensorGroup::kForward, 48, 48).rows) {
    if (!e.place.ring) wrong_ranks_.insert(0);
    for (const TensorComparison& t : e.comparison.tensors)
      if (e.place.ring && group_of(t.name) == TensorGroup::kForward)
        for (const auto& wrong : t.wrong_rows)
          if (e.part.rank < 0 || e.part.rank == rank_of(wrong.first))
            wrong_ranks_.insert(rank_of(wrong.first));
  }

  std::size_t count() const { return sample_.size(); }

  // Compares with rows of ranks where anything is wrong, or with all rows.
  bool fits(const WrongFactor& m, std::size_t most, bool all_ranks) {
    std::size_t looked_at = 0;
    for (const RowPlace& row : sample_) {
      if (looked_at == most) break;
      if (!all_ranks && !wrong_ranks_.contains(rank_of(row.row))) continue;
      ++looked_at;
      const std::optional<Merged> value = result(m, row);
      if (!value ||
          (e_.has("lse") && !is_claimed_row(e_, e_.claim.lse, e_.units().lse, row, {&value->lse, 1},
                                            std::isinf(value->lse))) ||
          (e_.has("out") && !is_claimed_row(e_, e_.claim.out, e_.units().out, row, value->out)))
        return false;
    }
    return looked_at >= std::min<std::size_t>(most, 4);
  }

  std::string ranks() const {
    std::string words = wrong_ranks_.size() == 1 ? "rank" : "ranks";
    for (const int rank : wrong_ranks_) words += " " + std::to_string(rank);
    return words;
  }

 private:
  int rank_of(Index row) const { return e_.place.row_owner[static_cast<std::size_t>(row)]; }

  // The blocks of a row, by rank.
  const std::vector<RunningState>& blocks(const RowPlace& row) {
    const Index at =
        (row.batch * e_.problem.heads + row.head) * static_cast<Index>(e_.problem.queries.size()) + row.row;
    const auto known = blocks_.find(at);
    if (known != blocks_.end()) return known->second;
    std::vector<RunningState> all(static_cast<std::size_t>(e_.place.count()));
    for (BlockPartial& part : ring_.partials({}, row))
      all[static_cast<std::size_t>(part.source)] = {std::move(part.out), part.max, part.sum};
    return blocks_[at] = std::move(all);
  }

  std::optional<RowPlace> other(Taken factor, RowPlace row) const {
    const auto& shard = e_.place.shards[static_cast<std::size_t>(rank_of(row.row))];
    const auto at = static_cast<std::size_t>(e_.place.row_local[static_cast<std::size_t>(row.row)]);
    const Index heads = e_.problem.heads;
    switch (factor) {
      case Taken::kHeadZero:
        row.head = 0;
        break;
      case Taken::kLastHead:
        row.head = heads - 1;
        break;
      case Taken::kNextHead:
        row.head = (row.head + 1) % heads;
        break;
      case Taken::kHeadBefore:
        row.head = (row.head + heads - 1) % heads;
        break;
      case Taken::kBatchZero:
        row.batch = 0;
        break;
      case Taken::kFirstRow:
        row.row = shard.front();
        break;
      case Taken::kLastRow:
        row.row = shard.back();
        break;
      case Taken::kNextRow:
        row.row = shard[(at + 1) % shard.size()];
        break;
      case Taken::kRowBefore:
        row.row = shard[(at + shard.size() - 1) % shard.size()];
        break;
      default:
        return {};
    }
    return row;
  }

  // The blocks in the order in which they are merged, in one list for each node.
  std::vector<std::vector<int>> order(const WrongFactor& m, int rank) {
    const int n = e_.place.count(), nodes = n / m.node, mine = rank / m.node;
    std::vector<std::vector<int>> lists;
    for (int k = 0; k < nodes; ++k) {
      const int node = m.ascending ? k : (mine - k + nodes) % nodes;
      auto& list = lists.emplace_back();
      for (int i = 0; i < m.node; ++i) {
        const int in_node = m.ascending ? i : (rank % m.node - i + m.node) % m.node;
        const int block = node * m.node + in_node;
        if (m.all_steps || ring_.has_pairs(rank, block)) list.push_back(block);
      }
    }
    return lists;
  }

  // Merges two states in the same order: that of the row, and that of the row whose factors are read.
  std::optional<Merged> result(const WrongFactor& m, const RowPlace& row) {
    const std::vector<RunningState> own = blocks(row);
    const auto from = other(m.factor, row);
    const std::vector<RunningState>& theirs = from ? blocks(*from) : own;
    const auto nothing = [&] { return RunningState{std::vector<double>(own[0].out.size(), 0.0)}; };
    RunningState whole = nothing();
    double their_whole = -HUGE_VAL;
    const auto step = [&](RunningState& state, double& their_max, const RunningState& block,
                          double their_block, bool wrong) {
      const double larger = std::max(their_max, their_block);
      join(state, block, wrong ? &m : nullptr, factor_of(their_max, larger), factor_of(their_block, larger));
      their_max = larger;
    };
    for (const std::vector<int>& list : order(m, rank_of(row.row))) {
      RunningState node = nothing();
      double their_node = -HUGE_VAL;
      for (const int block : list)
        step(node, their_node, own[static_cast<std::size_t>(block)],
             theirs[static_cast<std::size_t>(block)].max, m.scope != Merges::kBetweenNodes);
      step(whole, their_whole, node, their_node, m.scope == Merges::kBetweenNodes);
    }
    if (whole.max == -HUGE_VAL) return Merged{std::move(whole.out), -HUGE_VAL};
    if (!(whole.sum > 0)) return {};
    for (double& x : whole.out) x /= whole.sum;
    return Merged{std::move(whole.out), whole.max + std::log(whole.sum)};
  }

  const Evidence& e_;
  TwistedRing ring_;
  std::vector<RowPlace> sample_;
  std::set<int> wrong_ranks_;
  std::map<Index, std::vector<RunningState>> blocks_;
};

std::vector<WrongFactor> wrong_factors(const Evidence& e) {
  std::vector<WrongFactor> all;
  const BlockProblem& p = e.problem;
  const auto can_be = [&](Taken factor) {
    if (factor == Taken::kHeadZero || factor == Taken::kLastHead) return p.heads > 1;
    if (factor == Taken::kNextHead || factor == Taken::kHeadBefore) return p.heads > 2;
    return factor != Taken::kBatchZero || p.batch > 1;
  };
  std::vector<WrongFactor> places{{Summed::kSum, Side::kBefore, Taken::kNone}};
  if (e.place.ring) {
    places.push_back({.scope = Merges::kAll, .ascending = true});
    for (int node = 2; node < e.place.count(); ++node)
      if (e.place.count() % node == 0)
        for (const Merges scope : {Merges::kBetweenNodes, Merges::kInsideNodes})
          for (const bool ascending : {false, true})
            places.push_back({.scope = scope, .node = node, .ascending = ascending});
  }
  for (WrongFactor m : places) {
    if (m.scope == Merges::kAll) m.node = e.place.count();
    for (const Summed part : {Summed::kSum, Summed::kOut, Summed::kBoth})
      for (const Side side : {Side::kBefore, Side::kJoining, Side::kBoth})
        for (int f = 0; f <= static_cast<int>(Taken::kRowBefore); ++f) {
          m.part = part, m.side = side, m.factor = static_cast<Taken>(f);
          if (!can_be(m.factor)) continue;
          for (const bool all_steps : {true, false}) {
            m.all_steps = all_steps;
            if (all_steps || m.factor >= Taken::kHeadZero) all.push_back(m);
          }
        }
  }
  return all;
}

std::string factor_words(const WrongFactor& m) {
  const std::string what = m.part == Summed::kSum   ? "the denominator l is"
                           : m.part == Summed::kOut ? "the numerator O is"
                                                    : "l and O are";
  const std::string whose = m.side == Side::kBefore    ? " the old sums"
                            : m.side == Side::kJoining ? " those of the block that joins"
                                                       : " the sums of both sides";
  std::string words = what + " merged with a wrong factor:" + whose + " are ";
  const char* when = "exp(their maximum - the new maximum)";
  switch (m.factor) {
    case Taken::kNone:
      words += std::string("added without the factor ") + when;
      break;
    case Taken::kTwice:
      words += std::string("multiplied twice by ") + when;
      break;
    case Taken::kInverse:
      words += std::string("divided by ") + when + " instead of multiplied";
      break;
    case Taken::kBase2:
      words += "multiplied by a power of 2 of the maxima's difference instead of e";
      break;
    case Taken::kOtherSide:
      words += "multiplied by the other side's factor";
      break;
    default:
      words += std::string("multiplied by the factor of ") +
               kRowWords[static_cast<int>(m.factor) - static_cast<int>(Taken::kHeadZero)] +
               " instead of that of their own row";
  }
  const std::string size = std::to_string(m.node);
  if (m.scope == Merges::kBetweenNodes)
    words += "; this is so between nodes of " + size + " ranks, inside a node all is right";
  if (m.scope == Merges::kInsideNodes)
    words += "; this is so inside nodes of " + size + " ranks, between them all is right";
  return words;
}

}  // namespace

std::optional<Cause> cause_of_rescaling(const Evidence& e) {
  constexpr std::size_t kGlance = 3;
  if (e.place.count() < 2) return {};
  Rescaling rows(e);
  if (rows.count() < 8) return {};
  for (const WrongFactor& m : wrong_factors(e)) {
    if (!rows.fits(m, kGlance, false) || !rows.fits(m, rows.count(), false)) continue;
    std::string words = factor_words(m);
    if (!rows.fits(m, rows.count(), true)) words += "; on " + rows.ranks() + " only";
    return Cause{"solved-rescale", words,
                 "l and O have one maximum, that of their row: which factor brings each to the new one?"};
  }
  return {};
}

}  // namespace ringcraft::verify
