// Finds whose keys and values each block has. For the rows of a shard the sums over every block, from every
// entry that it may have, are columns; least squares picks one for each block, and out and lse of the rows
// must be the sum of the picked ones.
#include "verify/diagnose/solve/ring/block_sources.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr std::size_t kMostRows = 16;  // of a shard
constexpr double kMostWork = 4e8;      // multiplications of all columns

// A candidate for a block of one shard and entry.
struct Candidate {
  int slot, block;
  Index from, source;
  std::vector<double> column = {};
};

class SourceSolver {
 public:
  SourceSolver(const Evidence& e, Borrowed borrowed, bool other_blocks, bool each_head)
      : e_(e),
        borrowed_(borrowed),
        other_blocks_(other_blocks),
        span_(each_head ? 1 : e.problem.group()),
        rows_(sampled(e.place.shards, kMostRows)) {}

  std::optional<BlockSources> solved() {
    BlockSources result{.borrowed = borrowed_};
    for (int shard = 0; shard < e_.place.count(); ++shard) {
      const std::size_t before = result.all.size();
      if (solve_shard(shard, 1, result)) continue;
      result.all.resize(before);
      if (!solve_shard(shard, std::numbers::ln2, result)) return {};
      result.base_2.push_back(shard);
    }
    return result;
  }

 private:
  // Solves all entries of a shard, and fails if one has no solution; `factor` brings the claimed lse to base
  // e.
  bool solve_shard(int shard, double factor, BlockSources& result) {
    for (Index b = 0; b < e_.problem.batch; ++b)
      for (Index query = 0; query < e_.problem.heads; query += span_)
        if (!solve_entry(shard, b, query, factor, result)) return false;
    return true;
  }

  bool solve_entry(int shard, Index batch, Index query, double factor, BlockSources& result) {
    const Index head = query / e_.problem.group();
    std::vector<Candidate> all = candidates(shard, batch, head);
    prepare(shard, batch, query, factor);
    for (Candidate& each : all) fill(each, shard, batch, query);
    std::erase_if(all, [](const Candidate& each) {
      return std::ranges::all_of(each.column, [](double x) { return x == 0; });
    });
    return all.empty() || picked(all, shard, batch, query, result);
  }

  // Picks one candidate for each slot, if their sum is the wanted one. Fully visible slots have the same
  // columns: a column with the weight 2 fills two of them.
  bool picked(const std::vector<Candidate>& all, int shard, Index batch, Index query,
              BlockSources& result) const {
    const Index head = query / e_.problem.group();
    std::vector<std::vector<double>> columns;
    std::vector<std::size_t> column_of;
    for (const Candidate& each : all) {
      const auto at = std::ranges::find(columns, each.column);
      column_of.push_back(static_cast<std::size_t>(at - columns.begin()));
      if (at == columns.end()) columns.push_back(each.column);
    }
    if (columns.size() > wanted_.size()) return false;
    auto [weights, left] = least_squares(columns, wanted_);
    if (!(left <= yardsticks_of(e_).threshold)) return false;
    std::vector<double> rest = wanted_;
    const auto take = [&](std::size_t at) {
      weights[column_of[at]] -= 1;
      for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= columns[column_of[at]][i];
      const Candidate& chosen = all[at];
      result.all.push_back(
          {shard, chosen.slot, batch, head, query, chosen.block, chosen.from, chosen.source});
    };
    constexpr double kThere = 0.75, kClearly = 0.25;
    std::set<int> filled;  // right ones first
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].block == all[i].slot && all[i].from == batch && all[i].source == head &&
          weights[column_of[i]] > kThere)
        take(i), filled.insert(all[i].slot);
    for (std::size_t i = 0; i < all.size();) {
      std::size_t best = i;
      const int slot = all[i].slot;
      for (; i < all.size() && all[i].slot == slot; ++i)
        if (weights[column_of[i]] > weights[column_of[best]] + kClearly) best = i;
      if (!filled.contains(slot)) take(best);
    }
    double square = 0;
    for (const double x : rest) square += x * x;
    return std::sqrt(square / static_cast<double>(rest.size())) <= yardsticks_of(e_).threshold;
  }

  std::vector<Candidate> candidates(int shard, Index batch, Index head) const {
    std::vector<Candidate> all;
    const int n = e_.place.count();
    for (int slot = 0; slot < n; ++slot)
      for (int block = other_blocks_ ? 0 : slot; block < (other_blocks_ ? n : slot + 1); ++block)
        for (Index from = 0; from < e_.problem.batch; ++from)
          for (Index source = 0; source < e_.problem.kv_heads; ++source)
            if (slot != shard || (block == slot && from == batch && source == head) || !other_blocks_)
              all.push_back({slot, block, from, source});
    return all;
  }

  // Sets the right-hand side, and the reference levels and tolerances of the rows.
  void prepare(int shard, Index batch, Index query, double factor) {
    level_.clear(), tolerance_.clear(), wanted_.clear();
    for (const Index i : rows_[static_cast<std::size_t>(shard)])
      for (Index g = 0; g < span_; ++g) {
        const Index row = row_at(shard, i), h = query + g;
        const double lse = row_of(e_.claim.lse, batch, h, row)[0] * factor;
        const bool sees_none = std::isinf(lse);
        const auto out = row_of(e_.claim.out, batch, h, row);
        const auto t = tolerance_of(e_, e_.claim.out, e_.units().out, e_.oracle.scale.out, batch, h, row);
        const double of_lse =
            tolerance_of(e_, e_.claim.lse, e_.units().lse, e_.oracle.scale.lse, batch, h, row)[0];
        level_.push_back(sees_none ? 0 : lse);
        for (std::size_t c = 0; c < out.size(); ++c) {
          tolerance_.push_back(t[c] + std::fabs(out[c]) * of_lse);
          wanted_.push_back(sees_none ? 0 : out[c] / tolerance_.back());
        }
        tolerance_.push_back(of_lse);
        wanted_.push_back(sees_none ? 0 : 1 / of_lse);
      }
  }

  void fill(Candidate& to, int shard, Index batch, Index query) const {
    const Index kv_head = query / e_.problem.group();
    to.column.assign(wanted_.size(), 0.0);
    const auto width = static_cast<std::size_t>(e_.problem.head_dim);
    const auto& slot = e_.place.blocks[static_cast<std::size_t>(to.slot)];
    std::size_t line = 0;
    for (const Index i : rows_[static_cast<std::size_t>(shard)])
      for (Index g = 0; g < span_; ++g, ++line) {
        const Index row = row_at(shard, i), h = query + g;
        const auto q = row_of(e_.inputs.q, batch, h, row);
        for (std::size_t n = 0; n < slot.size(); ++n) {
          if (!visible(e_.problem.mask, e_.problem.queries[static_cast<std::size_t>(row)],
                       e_.problem.keys[static_cast<std::size_t>(slot[n])]))
            continue;
          const Index other = e_.place.at(to.block, static_cast<Index>(n));
          if (other < 0) continue;
          const auto k = borrowed_ == Borrowed::kValues ? row_of(e_.inputs.k, batch, kv_head, slot[n])
                                                        : row_of(e_.inputs.k, to.from, to.source, other);
          const auto v = borrowed_ == Borrowed::kKeys ? row_of(e_.inputs.v, batch, kv_head, slot[n])
                                                      : row_of(e_.inputs.v, to.from, to.source, other);
          const double weight = std::exp(std::min(e_.problem.softmax_scale * dot(q, k) - level_[line], 80.0));
          const std::size_t base = line * (width + 1);
          for (std::size_t c = 0; c < width; ++c) to.column[base + c] += weight * v[c] / tolerance_[base + c];
          to.column[base + width] += weight / tolerance_[base + width];
        }
      }
  }

  Index row_at(int shard, Index i) const {
    return e_.place.shards[static_cast<std::size_t>(shard)][static_cast<std::size_t>(i)];
  }

  const Evidence& e_;
  Borrowed borrowed_;
  bool other_blocks_;
  Index span_;  // query heads that are solved together
  std::vector<std::vector<Index>> rows_;
  std::vector<double> level_, tolerance_, wanted_;
};

bool cheap_enough(const Evidence& e, bool other_blocks) {
  const BlockProblem& p = e.problem;
  const double entries = static_cast<double>(p.batch * p.kv_heads),
               rows = static_cast<double>(std::min(p.queries.size(), kMostRows * e.place.shards.size()));
  return entries * entries * rows * static_cast<double>(p.keys.size()) *
             static_cast<double>(p.head_dim * p.group()) * (other_blocks ? e.place.count() : 1) <
         kMostWork;
}

}  // namespace

std::vector<Cause> causes_of_block_sources(const Evidence& e) {
  if (e.ring == nullptr || !e.place.ring || e.place.count() < 2 || !e.has("out") || !e.has("lse")) return {};
  if (e.problem.batch * e.problem.kv_heads < 2) return {};
  if (std::ranges::any_of(e.claim.lse.values<double>(),
                          [](double x) { return std::isnan(x) || x == HUGE_VAL; }))
    return {};
  for (const bool each_head : {false, true})
    for (const bool other_blocks : {false, true})
      for (const Borrowed borrowed : {Borrowed::kBoth, Borrowed::kValues, Borrowed::kKeys}) {
        if (!cheap_enough(e, other_blocks) || (each_head && e.problem.group() == 1)) continue;
        const auto sources = SourceSolver(e, borrowed, other_blocks, each_head).solved();
        if (!sources || std::ranges::all_of(sources->all, &BlockSource::right)) continue;
        return told(*sources, e);
      }
  return {};
}

}  // namespace ringcraft::verify
