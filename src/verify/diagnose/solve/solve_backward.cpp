// One gradient, solved for (see solve.hpp). With P and dS by a recipe,
//   dq = sum of c_x (sum over x of dS k),  dk = sum of c_x (sum over x of dS q),  dv likewise of P dout
// over the cells x of all pairs. Recipes are tried whole first, then with one factor, then cell by cell.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/solve/gradient_recipe.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/solve/tell.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<double>;

// The lines of one gradient by one recipe.
class GradientLines {
 public:
  GradientLines(const Evidence& e, GradientName name, const Recipe& recipe)
      : e_(e),
        name_(name),
        recipe_(recipe),
        weights_(e, recipe),
        claim_(named(e.claim)[index()].tensor),
        tolerances_(tolerances()),
        rows_(sampled(e.place.shards, of_keys() ? static_cast<std::size_t>(-1) : most_lines())),
        keys_(sampled(e.place.blocks, of_keys() ? most_lines() : static_cast<std::size_t>(-1))) {}

  bool of_keys() const { return name_ != GradientName::kDq; }
  int count() const { return static_cast<int>(of_keys() ? keys_.size() : rows_.size()); }

  // What this recipe gives and what was claimed, of one line.
  std::pair<Numbers, Numbers> direct(int line, double factor) {
    prepare(line, factor);
    Numbers given(wanted_.size(), 0.0);
    for_each_pair(line, [&](int shard, Index i, int block, Index n) {
      if (sees(e_.problem, e_.place, {}, shard, i, block, n))
        add(given, shard, i, block, n, block, name_, line);
    });
    return {given, wanted_};
  }

  // Its cells, and whatever else may have been added.
  LineSystem solved(int line, double factor, MaskSet masks, bool with_others) {
    prepare(line, factor);
    Ingredients from{e_.problem,
                     e_.place,
                     named_masks(e_.problem, e_.place, masks),
                     rows_,
                     keys_,
                     [=, this](Numbers& column, int shard, Index i, int block, Index n) {
                       add(column, shard, i, block, n, block, name_, line);
                     }};
    if (with_others && !of_keys())
      from.add_mixed = [=, this](Numbers& column, int shard, Index i, int block, Index n, int values) {
        add(column, shard, i, block, n, values, name_, line);
      };
    if (with_others && of_keys()) {
      from.add_share = [this](Numbers& column, int shard, int block, int to) {
        add_whole(column, shard, block, name_, to);
      };
      from.add_other = [=, this](Numbers& column, int shard, int block) {
        add_whole(column, shard, block, name_ == GradientName::kDk ? GradientName::kDv : GradientName::kDk,
                  line);
      };
    }
    LineSystem system = line_system(from, line, of_keys(), wanted_, 0);
    solve(system, yardsticks_of(e_).threshold);
    return system;
  }

 private:
  std::size_t index() const { return 2 + static_cast<std::size_t>(name_); }

  std::size_t most_lines() const {
    const Extents& x = claim_.extents();
    return std::max<std::size_t>(4, 3000 / static_cast<std::size_t>(x.batch * x.heads * x.width));
  }

  // A wrong P may be large: what is claimed far beyond what is right may be off by more.
  Numbers tolerances() const {
    const Buffer &want = named(e_.oracle.value)[index()].tensor, &unit = named(e_.units())[index()].tensor,
                 &scale = named(e_.oracle.scale)[index()].tensor;
    double claimed = 0, right = 1e-300;
    for (const double x : claim_.values<double>())
      claimed = std::max(claimed, std::isfinite(x) ? std::fabs(x) : 0);
    for (const double x : want.values<double>()) right = std::max(right, std::fabs(x));
    const double larger = std::max(1.0, claimed / right);
    Numbers all;
    const Extents& x = claim_.extents();
    for (Index b = 0; b < x.batch; ++b)
      for (Index h = 0; h < x.heads; ++h)
        for (Index row = 0; row < x.rows; ++row)
          for (const double t : tolerance_of(e_, claim_, unit, scale, b, h, row)) all.push_back(larger * t);
    return all;
  }

  std::size_t element(Index b, Index h, Index row) const {
    const Extents& x = claim_.extents();
    return static_cast<std::size_t>(((b * x.heads + h) * x.rows + row) * x.width);
  }

  Index row_of_line(int line, Index i) const {
    return (of_keys() ? e_.place.blocks
                      : e_.place.shards)[static_cast<std::size_t>(line)][static_cast<std::size_t>(i)];
  }

  // The right side: batch and heads of one row after those of another.
  void prepare(int line, double factor) {
    factor_ = factor;
    wanted_.clear();
    const Extents& x = claim_.extents();
    const std::vector<Index>& chosen = (of_keys() ? keys_ : rows_)[static_cast<std::size_t>(line)];
    first_.assign((of_keys() ? e_.place.blocks : e_.place.shards)[static_cast<std::size_t>(line)].size(), -1);
    Index next = 0;
    for (const Index i : chosen) {
      first_[static_cast<std::size_t>(i)] = next++;
      for (Index b = 0; b < x.batch; ++b)
        for (Index h = 0; h < x.heads; ++h) {
          const std::size_t at = element(b, h, row_of_line(line, i));
          for (std::size_t c = 0; c < static_cast<std::size_t>(x.width); ++c) {
            const double number = claim_.values<double>()[at + c];
            wanted_.push_back(std::isfinite(number) ? number / tolerances_[at + c] : 1e30);
          }
        }
    }
  }

  template <class Body>
  void for_each_pair(int line, Body body) const {
    const int others = static_cast<int>(of_keys() ? rows_.size() : keys_.size());
    for (int other = 0; other < others; ++other) {
      const int shard = of_keys() ? other : line, block = of_keys() ? line : other;
      for (const Index i : rows_[static_cast<std::size_t>(shard)])
        for (const Index n : keys_[static_cast<std::size_t>(block)]) body(shard, i, block, n);
    }
  }

  // Whether a query head adds to the sum of a key head, and with which weight.
  double share(Index head, Index kv_head) const {
    const Index group = e_.problem.group(), kv_heads = e_.problem.kv_heads;
    if (recipe_.group == Recipe::Group::kStrided) return head % kv_heads == kv_head ? 1 : 0;
    if (recipe_.group == Recipe::Group::kFirst && head % group != 0) return 0;
    if (recipe_.group == Recipe::Group::kLast && head % group != group - 1) return 0;
    return recipe_.group == Recipe::Group::kMean ? 1 / static_cast<double>(group) : 1;
  }

  // The contribution of a pair to the line `to`. For dq, `values` is the block whose keys are multiplied.
  void add(Numbers& column, int shard, Index i, int block, Index n, int values, GradientName what,
           int to) const {
    const BlockProblem& p = e_.problem;
    const Index row = e_.place.shards[static_cast<std::size_t>(shard)][static_cast<std::size_t>(i)];
    const Index key = e_.place.at(block, n);
    const Index target = of_keys() ? n : i;
    if (target >= static_cast<Index>(first_.size()) || first_[static_cast<std::size_t>(target)] < 0) return;
    const Index other = of_keys() || values < 0 ? key : e_.place.at(values, n);
    if (other < 0) return;
    const Index at = row_of_line(to, target);
    for (Index b = 0; b < p.batch; ++b)
      for (Index h = 0; h < p.heads; ++h) {
        const Setting& setting = recipe_.setting;
        const auto [from, kv_head] =
            source_of(e_, what == GradientName::kDv ? setting.value_heads : setting.heads, b, h);
        const Weights::Pair pair = weights_(b, h, row, key);
        const bool turned = recipe_.product == Recipe::Product::kOtherWeights ||
                            recipe_.product == Recipe::Product::kPlainWeights;
        if (!of_keys()) {
          const bool values_for_keys = values < 0 || recipe_.product == Recipe::Product::kOtherFactor;
          put(column, b, h, target, at, factor_ * (turned ? pair.p : pair.ds),
              row_of(values_for_keys ? e_.inputs.v : e_.inputs.k, from, kv_head, other));
          continue;
        }
        const bool strided = recipe_.group == Recipe::Group::kStrided;
        const Index kv = strided ? h % p.kv_heads : kv_head;
        const bool of_dk = what == GradientName::kDk;
        const double plain = recipe_.product == Recipe::Product::kPlainWeights ? recipe_.setting.scale : 1;
        const double weight = factor_ * share(h, kv) * (of_dk != turned ? pair.ds / plain : pair.p);
        put(column, from, kv, target, at, weight,
            of_dk != (recipe_.product == Recipe::Product::kOtherFactor) ? weights_.query(b, h, row)
                                                                        : weights_.dout(b, h, row));
      }
  }

  void put(Numbers& column, Index b, Index h, Index target, Index row, double weight,
           std::span<const double> with) const {
    const Extents& x = claim_.extents();
    const std::size_t tolerance = element(b, h, row);
    const auto at = static_cast<std::size_t>(
        ((first_[static_cast<std::size_t>(target)] * x.batch + b) * x.heads + h) * x.width);
    for (std::size_t c = 0; c < with.size(); ++c)
      column[at + c] += weight * with[c] / tolerances_[tolerance + c];
  }

  // The whole part of (shard, block), through the right mask.
  void add_whole(Numbers& column, int shard, int block, GradientName what, int to) const {
    for (const Index i : rows_[static_cast<std::size_t>(shard)])
      for (Index n = 0; n < static_cast<Index>(e_.place.blocks[static_cast<std::size_t>(block)].size()); ++n)
        if (sees(e_.problem, e_.place, {}, shard, i, block, n))
          add(column, shard, i, block, n, block, what, to);
  }

  const Evidence& e_;
  GradientName name_;
  Recipe recipe_;
  Weights weights_;
  const Buffer& claim_;
  Numbers tolerances_;
  std::vector<std::vector<Index>> rows_, keys_;
  double factor_ = 1;
  Numbers wanted_;
  std::vector<Index> first_;  // of each row of the line, its how manyth it is of those looked at; -1: not
};

// How a factor is called.
Cause cause_of_factor(const Evidence& e, GradientName name, double factor) {
  const bool dq = name == GradientName::kDq;
  const BlockProblem& p = e.problem;
  const std::vector<std::tuple<double, const char*, const char*>> known{
      {1 / p.softmax_scale, dq ? "BW7-dq" : "BW7", "the softmax scale is missing"},
      {p.softmax_scale, dq ? "BW7-twice" : "BW7-dk-twice",
       name == GradientName::kDv ? "multiplied by the softmax scale, which has no place here"
                                 : "the softmax scale is applied twice"},
      {-1, "BW8", "the sign is wrong"},
      {1.0 / e.place.count(), "RB11",
       e.place.ring ? "divided by the number of ranks" : "divided by the number of tiles"},
      {e.place.count(), "GR2",
       e.place.ring ? "multiplied by the number of ranks: summed once more"
                    : "multiplied by the number of tiles"},
      {1 / static_cast<double>(p.group()), "GQ4-average", "divided by the number of query heads of a group"},
      {static_cast<double>(p.group()), "solved-factor-group",
       "multiplied by the number of query heads of a group"},
      {0.69314718055994531, "solved-factor-ln2", "multiplied by ln 2"},
      {1.4426950408889634, "solved-factor-log2e", "multiplied by log2(e)"},
      {1 / static_cast<double>(p.batch), "solved-factor-batch", "divided by the number of batch entries"},
      {2, "solved-factor-2", "twice what it should be"},
      {0.5, "solved-factor-half", "half of what it should be"}};
  const double near = is_half(e.precision) ? 2e-2 : 1e-4;
  for (const auto& [value, id, words] : known)
    if (std::fabs(value - 1) > 1e-6 && std::fabs(factor / value - 1) < near)
      return {id, words, "Which factors does this gradient get, and how often each?"};
  return {"solved-factor", std::to_string(factor) + " times what it should be",
          "Which factors does this gradient get, and how often each?"};
}

double misfit(const Numbers& given, const Numbers& wanted, double factor) {
  Numbers left = wanted;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] -= factor * given[i];
  return residual_of(left, 0);
}

// The one factor that a recipe leaves, if there is one.
std::optional<double> factor_of(GradientLines& lines, double threshold) {
  double product = 0, square = 0;
  std::vector<std::pair<Numbers, Numbers>> all;
  for (int line = 0; line < lines.count(); ++line) {
    const auto& [given, wanted] = all.emplace_back(lines.direct(line, 1));
    for (std::size_t i = 0; i < given.size(); ++i)
      product += given[i] * wanted[i], square += given[i] * given[i];
  }
  const auto fits = [&](double factor) {
    return std::ranges::all_of(
        all, [&](const auto& each) { return misfit(each.first, each.second, factor) <= threshold; });
  };
  if (fits(1)) return 1.0;
  const double factor = square > 0 ? product / square : 0;
  if (std::fabs(factor) < 1e-3 || !std::isfinite(factor) || !fits(factor)) return {};
  return factor;
}

std::optional<std::vector<Cause>> told_by(const Evidence& e, GradientName name, GradientLines& lines,
                                          MaskSet masks, bool with_others) {
  std::vector<LineSystem> solved;
  for (int line = 0; line < lines.count(); ++line) {
    solved.push_back(lines.solved(line, 1, masks, with_others));
    if (!solved.back().possible) return {};
  }
  std::vector<Cause> causes;
  if (const auto told = tell(e.place, solved, yardsticks_of(e).threshold)) {
    for (const Told& each : *told) causes.push_back(cause_of(each, e.place, "", name == GradientName::kDq));
    return causes;
  }
  const auto cells = cause_of_cells(e.place, e.problem, solved, "");
  if (!cells) return {};
  return std::vector<Cause>{*cells};
}

}  // namespace

SolvedPass solve_gradient(const Evidence& e, GradientName name, const Setting& forward) {
  const double threshold = yardsticks_of(e).threshold;
  const std::vector<Recipe> recipes = recipes_of(e, name, forward);
  for (const Recipe& recipe : recipes) {
    GradientLines lines(e, name, recipe);
    const std::optional<double> factor = factor_of(lines, threshold);
    if (!factor) continue;
    std::vector<Cause> causes = causes_of(recipe);
    if (*factor != 1) causes.push_back(cause_of_factor(e, name, *factor));
    return {true, std::move(causes), recipe.setting};
  }
  SolvedPass best;
  const std::pair<MaskSet, bool> tries[] = {
      {MaskSet::kCommon, false}, {MaskSet::kAll, false}, {MaskSet::kCommon, true}};
  for (const auto& [masks, with_others] : tries) {
    for (std::size_t r = 0; r < std::min<std::size_t>(recipes.size(), 10) && !(with_others && r > 3); ++r) {
      GradientLines lines(e, name, recipes[r]);
      const auto told = told_by(e, name, lines, masks, with_others);
      if (!told) continue;
      std::vector<Cause> causes = causes_of(recipes[r]);
      causes.insert(causes.end(), told->begin(), told->end());
      if (!best.solved || causes.size() < best.causes.size())
        best = {true, std::move(causes), recipes[r].setting};
    }
    if (best.solved && (masks == MaskSet::kAll || best.causes.size() < 2)) break;
  }
  return best;
}

}  // namespace ringcraft::verify
