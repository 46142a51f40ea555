// Sets up the lines of one gradient: claimed values, tolerances, and the contribution of each pair as a
// column of a linear system.
#include "verify/diagnose/solve/gradient/gradient_lines.hpp"

#include <algorithm>
#include <cmath>

#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {

GradientLines::GradientLines(const Evidence& e, GradientName name, const Recipe& recipe)
    : e_(e),
      name_(name),
      recipe_(recipe),
      weights_(e, recipe),
      claim_(named(e.claim)[index()].tensor),
      tolerances_(tolerances()),
      rows_(sampled(e.place.shards, of_keys() ? static_cast<std::size_t>(-1) : most_lines())),
      keys_(sampled(e.place.blocks, of_keys() ? most_lines() : static_cast<std::size_t>(-1))) {}

std::pair<GradientLines::Numbers, GradientLines::Numbers> GradientLines::direct(int line,
                                                                                const Which& counts) {
  prepare(line);
  Numbers given(wanted_.size(), 0.0);
  const bool hidden_too = adds_hidden_pairs(recipe_);
  const int others = static_cast<int>(of_keys() ? rows_.size() : keys_.size());
  for (int other = 0; other < others; ++other) {
    const int shard = of_keys() ? other : line, block = of_keys() ? line : other;
    if (counts && !counts(shard, block)) continue;
    for (const Index i : rows_[static_cast<std::size_t>(shard)])
      for (const Index n : keys_[static_cast<std::size_t>(block)])
        if (hidden_too || sees(e_.problem, e_.place, {}, shard, i, block, n))
          add(given, shard, i, block, n, block, name_, line);
  }
  return {given, wanted_};
}

LineSystem GradientLines::solved(int line, MaskSet masks, bool with_others, KnownCells& cells) {
  prepare(line);
  Ingredients from{e_.problem,
                   e_.place,
                   named_masks(e_.problem, e_.place, masks),
                   rows_,
                   keys_,
                   [=, this](Numbers& column, int shard, Index i, int block, Index n) {
                     add(column, shard, i, block, n, block, name_, line);
                   },
                   &cells};
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

std::size_t GradientLines::most_lines() const {
  const Extents& x = claim_.extents();
  return std::max<std::size_t>(4, 3000 / static_cast<std::size_t>(x.batch * x.heads * x.width));
}

// A wrong P may be large: a claimed value far beyond the right one gets a larger tolerance.
GradientLines::Numbers GradientLines::tolerances() const {
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

std::size_t GradientLines::element(Index b, Index h, Index row) const {
  const Extents& x = claim_.extents();
  return static_cast<std::size_t>(((b * x.heads + h) * x.rows + row) * x.width);
}

Index GradientLines::row_of_line(int line, Index i) const {
  return (of_keys() ? e_.place.blocks
                    : e_.place.shards)[static_cast<std::size_t>(line)][static_cast<std::size_t>(i)];
}

// Sets the right-hand side: batch entries and heads of one row after those of another.
void GradientLines::prepare(int line) {
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

// Whether a query head adds to the sum of a key head, and with which weight.
double GradientLines::share(Index head, Index kv_head) const {
  const Index group = e_.problem.group(), kv_heads = e_.problem.kv_heads;
  if (recipe_.group == Recipe::Group::kStrided) return head % kv_heads == kv_head ? 1 : 0;
  if (recipe_.group == Recipe::Group::kFirst && head % group != 0) return 0;
  if (recipe_.group == Recipe::Group::kLast && head % group != group - 1) return 0;
  return recipe_.group == Recipe::Group::kMean ? 1 / static_cast<double>(group) : 1;
}

// The contribution of a pair to the line `to`. For dq, `values` is the block whose keys are multiplied.
void GradientLines::add(Numbers& column, int shard, Index i, int block, Index n, int values,
                        GradientName what, int to) const {
  const BlockProblem& p = e_.problem;
  const Index row = e_.place.shards[static_cast<std::size_t>(shard)][static_cast<std::size_t>(i)];
  const Index key = e_.place.at(block, n);
  const Index target = of_keys() ? n : i;
  if (target >= static_cast<Index>(first_.size()) || first_[static_cast<std::size_t>(target)] < 0) return;
  const Index other = values == block           ? weights_.key_in_hand(row, key)
                      : of_keys() || values < 0 ? key
                                                : e_.place.at(values, n);
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
        put(column, b, h, target, at, (turned ? pair.p : pair.ds),
            row_of(values_for_keys ? e_.inputs.v : e_.inputs.k, from, kv_head, other));
        continue;
      }
      const bool strided = recipe_.group == Recipe::Group::kStrided;
      const Index kv = strided ? h % p.kv_heads : kv_head;
      const bool of_dk = what == GradientName::kDk;
      const double plain = recipe_.product == Recipe::Product::kPlainWeights ? recipe_.setting.scale : 1;
      const double weight = share(h, kv) * (of_dk != turned ? pair.ds / plain : pair.p);
      put(column, from, kv, target, at, weight,
          of_dk != (recipe_.product == Recipe::Product::kOtherFactor) ? weights_.query(b, h, row, block)
                                                                      : weights_.dout(b, h, row, block));
    }
}

void GradientLines::put(Numbers& column, Index b, Index h, Index target, Index row, double weight,
                        std::span<const double> with) const {
  const Extents& x = claim_.extents();
  const std::size_t tolerance = element(b, h, row);
  const auto at = static_cast<std::size_t>(
      ((first_[static_cast<std::size_t>(target)] * x.batch + b) * x.heads + h) * x.width);
  for (std::size_t c = 0; c < with.size(); ++c)
    column[at + c] += weight * with[c] / tolerances_[tolerance + c];
}

// The whole part of (shard, block), through the right mask.
void GradientLines::add_whole(Numbers& column, int shard, int block, GradientName what, int to) const {
  for (const Index i : rows_[static_cast<std::size_t>(shard)])
    for (Index n = 0; n < static_cast<Index>(e_.place.blocks[static_cast<std::size_t>(block)].size()); ++n)
      if (sees(e_.problem, e_.place, {}, shard, i, block, n))
        add(column, shard, i, block, n, block, what, to);
}

}  // namespace ringcraft::verify
