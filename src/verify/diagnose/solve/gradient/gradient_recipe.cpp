// Lists the recipes of the backward pass to try, and computes P, dS and their factors by a recipe.
#include "verify/diagnose/solve/gradient/gradient_recipe.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Lse = Recipe::Lse;
using Delta = Recipe::Delta;
using Formula = Recipe::Formula;
using Group = Recipe::Group;

bool same(const Buffer& a, const Buffer& b) {
  return std::ranges::equal(a.values<double>(), b.values<double>());
}

using From = Recipe::From;
using StepData = Recipe::Data;

// Heads, batch entries and rows that may be read instead of the right ones.
std::vector<From> sources_of(const Evidence& e) {
  std::vector<From> all;
  const Index ranks = e.place.count();
  const bool ring = e.place.ring && ranks > 1;
  if (e.problem.group() > 1) all = {From::kOfFirst, From::kOfLast, From::kOfKvHead};
  if (e.problem.heads > 1) all.insert(all.end(), {From::kZero, From::kReshaped});
  if (e.problem.heads > 2) all.insert(all.end(), {From::kNextHead, From::kHeadBefore});
  if (e.problem.batch > 1) all.push_back(From::kFirstBatch);
  if (ring && e.problem.heads > ranks && e.problem.heads % ranks == 0) all.push_back(From::kInterleaved);
  if (ring) all.insert(all.end(), {From::kOfOwner, From::kHalves, From::kNextRank, From::kRankBefore});
  if (ring) all.push_back(From::kLaterHalves);
  all.insert(all.end(), {From::kNextRow, From::kRowBefore, From::kReversed});
  return all;
}

// Adds recipes that read one tensor, or several together, from a wrong head or row.
void add_sources(const Evidence& e, GradientName name, const Setting& setting, std::vector<Recipe>& all) {
  for (const From from : sources_of(e)) {
    all.push_back({.setting = setting, .lse_from = from});
    all.push_back({.setting = setting, .dout_from = from});
    all.push_back({.setting = setting, .query_from = from});
    all.push_back({.setting = setting, .lse_from = from, .query_from = from});
    if (name == GradientName::kDk)
      all.push_back({.setting = setting, .query_from = from, .only_in_product = true});
    if (name == GradientName::kDv) continue;
    all.push_back({.setting = setting, .delta_from = from});
    all.push_back({.setting = setting, .lse_from = from, .delta_from = from});
    all.push_back({.setting = setting, .delta_from = from, .dout_from = from});
    all.push_back({.setting = setting, .dout_from = from, .dout_in_delta = true});
  }
}

// Adds recipes with k or v, or both, of another block.
void add_data(const Evidence& e, GradientName name, const Setting& setting, std::vector<Recipe>& all) {
  if (!e.place.ring || e.place.count() < 2) return;
  for (const StepData data : {StepData::kOwn, StepData::kBefore, StepData::kNext, StepData::kMirror}) {
    all.push_back({.setting = setting, .k_data = data});
    if (name == GradientName::kDv) continue;
    all.push_back({.setting = setting, .k_data = data, .v_data = data});
    all.push_back({.setting = setting, .v_data = data});
  }
}

}  // namespace

std::vector<Recipe> recipes_of(const Evidence& e, GradientName name, const Setting& forward) {
  const bool grouped = e.problem.group() > 1, claimed = !same(e.claim.out, e.oracle.value.out);
  std::vector<Lse> lses{Lse::kBase2, Lse::kTimesLn2, Lse::kNone, Lse::kNegative};
  if (e.place.count() > 1) lses.push_back(Lse::kOwnBlock);
  if (!same(e.claim.lse, e.oracle.value.lse)) lses.insert(lses.begin(), Lse::kRight);
  std::vector<Delta> deltas{Delta::kNone,  Delta::kMean,    Delta::kOfDout,
                            Delta::kOfOut, Delta::kDoubled, Delta::kFirstHalf};
  if (claimed) deltas.insert(deltas.begin(), Delta::kRight);
  if (e.problem.heads > 1) deltas.push_back(Delta::kOverHeads);
  const std::vector<Formula> formulas{
      Formula::kAdded,    Formula::kUnweighted,     Formula::kUnweightedHidden,
      Formula::kWithoutP, Formula::kWithoutPHidden, Formula::kDiagonal,
      Formula::kScaledDp, Formula::kScaledD,        Formula::kSquared};
  std::vector<Group> groups;
  if (grouped && name != GradientName::kDq)
    groups = {Group::kFirst, Group::kLast, Group::kMean, Group::kStrided};

  std::vector<Setting> settings{settings_of(e).front()};
  if (!causes_of(forward).empty()) settings.insert(settings.begin(), forward);
  std::vector<Recipe> all;
  for (const Setting& setting : settings) {
    all.push_back({setting});
    for (const Lse lse : lses) all.push_back({setting, lse});
    if (name != GradientName::kDv) {
      for (const Delta delta : deltas) all.push_back({setting, {}, delta});
      for (const Formula formula : formulas) all.push_back({setting, {}, {}, formula});
    }
    all.push_back({.setting = setting, .out_for_dout = true});
    add_data(e, name, setting, all);
    add_sources(e, name, setting, all);
    for (const Group group : groups) all.push_back({setting, {}, {}, {}, group});
    for (const auto product :
         {Recipe::Product::kPlainWeights, Recipe::Product::kOtherFactor, Recipe::Product::kOtherWeights})
      if (product != Recipe::Product::kPlainWeights || name == GradientName::kDv)
        all.push_back({setting, {}, {}, {}, {}, product});
  }
  if (causes_of(forward).empty())
    for (const Setting& setting : settings_of(e))
      if (!causes_of(setting).empty()) all.push_back({setting});
  if (claimed && name != GradientName::kDv) all.push_back({settings[0], Lse::kRight, Delta::kRight});
  return all;
}

Weights::Place Weights::read_for(From from, Index batch, Index head, Index row, int block) const {
  const BlockProblem& p = e_.problem;
  const Arrangement& a = e_.place;
  const int shard = a.row_owner[static_cast<std::size_t>(row)];
  const auto& mine = a.shards[static_cast<std::size_t>(shard)];
  const auto size = static_cast<Index>(mine.size()), at = a.row_local[static_cast<std::size_t>(row)],
             middle = (size + 1) / 2;
  const auto local = [&](Index i) {
    return mine[static_cast<std::size_t>(std::clamp<Index>(i, 0, size - 1))];
  };
  const auto of_rank = [&](int rank) {
    const auto& rows = a.shards[static_cast<std::size_t>(a.wrapped(rank))];
    return rows.empty() ? row
                        : rows[static_cast<std::size_t>(std::min(at, static_cast<Index>(rows.size()) - 1))];
  };
  switch (from) {
    case From::kRight:
      break;
    case From::kOfFirst:
      return {batch, head / p.group() * p.group(), row};
    case From::kOfLast:
      return {batch, head / p.group() * p.group() + p.group() - 1, row};
    case From::kOfKvHead:
      return {batch, head / p.group(), row};
    case From::kZero:
      return {batch, 0, row};
    case From::kInterleaved: {
      const Index each = std::max<Index>(1, p.heads / a.count());
      return {batch, head % each * a.count() + head / each, row};
    }
    case From::kNextHead:
      return {batch, (head + 1) % p.heads, row};
    case From::kHeadBefore:
      return {batch, (head + p.heads - 1) % p.heads, row};
    case From::kFirstBatch:
      return {0, head, row};
    case From::kReshaped: {
      const Index flat = head * size + at;
      return {batch, flat % p.heads, mine[static_cast<std::size_t>(flat / p.heads)]};
    }
    case From::kLaterHalves:
      if (block <= shard) break;
      [[fallthrough]];
    case From::kHalves:
      return {batch, head, local(at >= middle ? at - middle : at + middle)};
    case From::kOfOwner:
      return {batch, head, of_rank(block)};
    case From::kNextRank:
      return {batch, head, of_rank(shard + 1)};
    case From::kRankBefore:
      return {batch, head, of_rank(shard - 1)};
    case From::kNextRow:
      return {batch, head, local((at + 1) % size)};
    case From::kRowBefore:
      return {batch, head, local((at + size - 1) % size)};
    case From::kReversed:
      return {batch, head, local(size - 1 - at)};
  }
  return {batch, head, row};
}

std::span<const double> Weights::dout(Index batch, Index head, Index row, int block) const {
  const auto [b, h, i] = read_for(recipe_.dout_from, batch, head, row, block);
  return row_of(recipe_.out_for_dout ? e_.claim.out : e_.inputs.dout, b, h, i);
}

std::span<const double> Weights::query(Index batch, Index head, Index row, int block) const {
  const auto [b, h, i] = read_for(recipe_.query_from, batch, head, row, block);
  return row_of(e_.inputs.q, b, h, i);
}

Index Weights::in_hand(StepData data, Index row, Index key) const {
  const Arrangement& a = e_.place;
  const int block = a.owner[static_cast<std::size_t>(key)],
            shard = a.row_owner[static_cast<std::size_t>(row)];
  const Index at = a.local[static_cast<std::size_t>(key)];
  switch (data) {
    case StepData::kRight:
      break;
    case StepData::kOwn:
      return a.at(shard, at);
    case StepData::kBefore:  // step 0 has no previous block
      return block == shard ? key : a.at(a.wrapped(block + 1), at);
    case StepData::kNext:
      return a.at(a.wrapped(block - 1), at);
    case StepData::kMirror:
      return a.at(a.wrapped(2 * shard - block), at);
  }
  return key;
}

Index Weights::key_in_hand(Index row, Index key) const { return in_hand(recipe_.k_data, row, key); }

std::size_t Weights::at(const Place& p) const {
  return static_cast<std::size_t>(
      (p.batch * e_.problem.heads + p.head) * static_cast<Index>(e_.problem.queries.size()) + p.row);
}

namespace {

// Whether a tensor is right: then backward used it before it was rounded for output, with better numbers.
bool is_right(const Evidence& e, std::string_view name) {
  return std::ranges::none_of(e.comparison.tensors,
                              [=](const TensorComparison& t) { return t.name == name && !t.good(); });
}

}  // namespace

Weights::Weights(const Evidence& e, const Recipe& recipe)
    : e_(e),
      recipe_(recipe),
      out_(recipe.delta == Delta::kRight || is_right(e, "out") ? e.oracle.value.out : e.claim.out) {
  const BlockProblem& p = e.problem;
  const auto rows = static_cast<Index>(p.queries.size());
  const Buffer& saved = recipe.lse == Lse::kRight || is_right(e, "lse") ? e.oracle.value.lse : e.claim.lse;
  const auto plain = [&](Index b, Index h, Index row) {
    const auto dout = row_of(e.inputs.dout, b, h, row), o = row_of(out_, b, h, row);
    if (recipe.delta == Delta::kOfDout) return dot(dout, dout);
    if (recipe.delta == Delta::kOfOut) return dot(o, o);
    if (recipe.delta == Delta::kFirstHalf) return dot(dout.first(o.size() / 2), o.first(o.size() / 2));
    return dot(dout, o);
  };
  for (Index b = 0; b < p.batch; ++b)
    for (Index h = 0; h < p.heads; ++h)
      for (Index row = 0; row < rows; ++row) {
        double lse = row_of(saved, b, h, row)[0];
        if (recipe.lse == Lse::kBase2) lse /= std::numbers::ln2;
        if (recipe.lse == Lse::kTimesLn2) lse *= std::numbers::ln2;
        if (recipe.lse == Lse::kNegative) lse = -lse;
        if (recipe.lse == Lse::kNone) lse = 0;
        lse_.push_back(lse);
        double delta = 0;
        if (recipe.delta == Delta::kOverHeads)
          for (Index each = 0; each < p.heads; ++each) delta += plain(b, each, row);
        else if (recipe.delta != Delta::kNone)
          delta = plain(b, h, row);
        if (recipe.delta == Delta::kMean) delta /= static_cast<double>(p.head_dim);
        if (recipe.delta == Delta::kDoubled) delta *= 2;
        if (recipe.formula == Formula::kAdded) delta = -delta;
        delta_.push_back(delta);
        if (recipe.lse != Lse::kOwnBlock) continue;
        for (int block = 0; block < e.place.count(); ++block)
          block_lse_.push_back(lse_of_block(b, h, row, block));
      }
}

double Weights::lse_of_block(Index b, Index h, Index row, int block) const {
  double max = -HUGE_VAL, sum = 0;
  for (const bool add : {false, true})
    for (const Index key : e_.place.blocks[static_cast<std::size_t>(block)]) {
      if (!visible(e_.problem.mask, e_.problem.queries[static_cast<std::size_t>(row)],
                   e_.problem.keys[static_cast<std::size_t>(key)]))
        continue;
      const double score = recipe_.setting.scale * product_of(e_, recipe_.setting, b, h, row, key);
      if (add)
        sum += std::exp(score - max);
      else
        max = std::max(max, score);
    }
  return max == -HUGE_VAL ? 0 : max + std::log(sum);
}

double Weights::delta(Index b, Index h, Index row, int block) const {
  if (recipe_.dout_in_delta) return dot(dout(b, h, row, block), row_of(out_, b, h, row));
  return delta_[at(read_for(recipe_.delta_from, b, h, row, block))];
}

Weights::Pair Weights::operator()(Index b, Index h, Index row, Index key) const {
  const int block = e_.place.owner[static_cast<std::size_t>(key)];
  double shift = lse_[at(read_for(recipe_.lse_from, b, h, row, block))];
  if (recipe_.lse == Lse::kOwnBlock)
    shift = block_lse_[at({b, h, row}) * static_cast<std::size_t>(e_.place.count()) +
                       static_cast<std::size_t>(block)];
  const Index k = in_hand(recipe_.k_data, row, key), v = in_hand(recipe_.v_data, row, key);
  if (!std::isfinite(shift) || k < 0 || v < 0) return {0, 0};
  const double scale = recipe_.setting.scale_of(e_.place.row_owner[static_cast<std::size_t>(row)], block),
               delta = this->delta(b, h, row, block);
  const double score =
      scale * (recipe_.query_from == From::kRight || recipe_.only_in_product
                   ? product_of(e_, recipe_.setting, b, h, row, k)
                   : dot(query(b, h, row, block), row_of(e_.inputs.k, b, h / e_.problem.group(), k)));
  const bool hidden = adds_hidden_pairs(recipe_) &&
                      !visible(e_.problem.mask, e_.problem.queries[static_cast<std::size_t>(row)],
                               e_.problem.keys[static_cast<std::size_t>(key)]);
  const double p = hidden ? 0 : std::exp(std::min(score - shift, 80.0));
  const double dp = dot(recipe_.only_in_product ? row_of(e_.inputs.dout, b, h, row) : dout(b, h, row, block),
                        value_of(e_, recipe_.setting, b, h, row, v));
  switch (recipe_.formula) {
    case Formula::kUnweighted:
    case Formula::kUnweightedHidden:
      return {p, scale * (p * dp - delta)};
    case Formula::kWithoutP:
    case Formula::kWithoutPHidden:
      return {p, scale * (dp - delta)};
    case Formula::kDiagonal:
      return {p, scale * p * (1 - p) * dp};
    case Formula::kScaledDp:
      return {p, p * (scale * dp - delta)};
    case Formula::kScaledD:
      return {p, p * (dp - scale * delta)};
    case Formula::kSquared:
      return {p, scale * p * p * (dp - delta)};
    case Formula::kRight:
    case Formula::kAdded:
      break;
  }
  return {p, scale * p * (dp - delta)};
}

}  // namespace ringcraft::verify
