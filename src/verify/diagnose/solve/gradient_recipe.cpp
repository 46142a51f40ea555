// Recipes of backward (see gradient_recipe.hpp).
#include "verify/diagnose/solve/gradient_recipe.hpp"

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

using Head = Recipe::Head;

// The head and batch entry that are read for these.
std::pair<Index, Index> read_for(const BlockProblem& p, int ranks, Head which, Index batch, Index head) {
  switch (which) {
    case Head::kRight:
      break;
    case Head::kOfFirst:
      return {batch, head / p.group() * p.group()};
    case Head::kOfLast:
      return {batch, head / p.group() * p.group() + p.group() - 1};
    case Head::kOfKvHead:
      return {batch, head / p.group()};
    case Head::kZero:
      return {batch, 0};
    case Head::kInterleaved: {
      const Index each = std::max<Index>(1, p.heads / ranks);
      return {batch, head % each * ranks + head / each};
    }
    case Head::kFirstBatch:
      return {0, head};
  }
  return {batch, head};
}

// One tensor, or lse and D together, of a wrong head.
void add_heads(const Evidence& e, GradientName name, const Setting& setting, std::vector<Recipe>& all) {
  std::vector<Head> heads;
  if (e.problem.group() > 1) heads = {Head::kOfFirst, Head::kOfLast, Head::kOfKvHead};
  if (e.problem.heads > 1) heads.push_back(Head::kZero);
  if (e.problem.batch > 1) heads.push_back(Head::kFirstBatch);
  const Index ranks = e.place.count();
  if (e.place.ring && ranks > 1 && e.problem.heads > ranks && e.problem.heads % ranks == 0)
    heads.push_back(Head::kInterleaved);
  for (const Head head : heads) {
    all.push_back({.setting = setting, .lse_head = head});
    all.push_back({.setting = setting, .dout_head = head});
    all.push_back({.setting = setting, .query_head = head});
    if (name == GradientName::kDv) continue;
    all.push_back({.setting = setting, .delta_head = head});
    all.push_back({.setting = setting, .lse_head = head, .delta_head = head});
  }
}

// "lse of the first query head of the group is read for every one".
Cause cause_of_head(const char* tensor, Head head) {
  constexpr const char* kNames[] = {"", "first", "last", "kv-head", "zero", "interleaved", "batch"};
  constexpr const char* kWords[] = {
      "",
      " of the first query head of the group is read for every head of it",
      " of the last query head of the group is read for every head of it",
      " of head h / group is read for query head h",
      " of head 0 is read for every query head",
      " of heads r, r + N, r + 2 N, ... is read for the neighbouring heads of rank r",
      " of batch entry 0 is read for every entry"};
  const auto at = static_cast<std::size_t>(head);
  return {std::string("solved-") + tensor + "-" + kNames[at], std::string(tensor) + kWords[at],
          "How do head and batch entry enter the place of each tensor that backward reads?"};
}

}  // namespace

std::vector<Recipe> recipes_of(const Evidence& e, GradientName name, const Setting& forward) {
  const bool grouped = e.problem.group() > 1, claimed = !same(e.claim.out, e.oracle.value.out);
  std::vector<Lse> lses{Lse::kBase2, Lse::kTimesLn2, Lse::kNone};
  if (e.place.count() > 1) lses.push_back(Lse::kOwnBlock);
  if (!same(e.claim.lse, e.oracle.value.lse)) lses.insert(lses.begin(), Lse::kRight);
  if (e.problem.heads > 1) lses.push_back(Lse::kReshaped);
  if (e.place.ring) lses.push_back(Lse::kHalves);
  std::vector<Delta> deltas{Delta::kNone, Delta::kMean, Delta::kOfDout, Delta::kOfOut, Delta::kDoubled};
  if (claimed) deltas.insert(deltas.begin(), Delta::kRight);
  if (e.problem.heads > 1) deltas.push_back(Delta::kOverHeads);
  std::vector<Formula> formulas{Formula::kAdded, Formula::kUnweighted, Formula::kScaledDp, Formula::kScaledD,
                                Formula::kSquared};
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
    add_heads(e, name, setting, all);
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

std::vector<Cause> causes_of(const Recipe& recipe) {
  std::vector<Cause> causes = causes_of(recipe.setting);
  const auto add = [&](const char* id, const char* sentence, const char* question) {
    causes.push_back({id, sentence, question});
  };
  if (recipe.out_for_dout)
    add("solved-out-for-dout", "dP and dv are made of out instead of dout",
        "Backward gets out and dout, of the same shape: which of them is which?");
  constexpr const char* kWhichLse = "Do the rows of your recomputed P add up to 1?";
  switch (recipe.lse) {
    case Lse::kClaimed:
      break;
    case Lse::kRight:
      add("solved-lse-right", "P is made from right lse, not from the one that was handed out", kWhichLse);
      break;
    case Lse::kBase2:
      add("BW-base2", "P is computed again as exp(score - lse) with an lse to the base 2", kWhichLse);
      break;
    case Lse::kTimesLn2:
      add("solved-lse-ln2", "P is computed again from lse times ln 2", kWhichLse);
      break;
    case Lse::kOwnBlock:
      add("RB7", "P is computed again from the lse of each block", kWhichLse);
      break;
    case Lse::kHalves:
      add("solved-lse-halves", "the lse of a row is that of the row in the other half of its shard",
          kWhichLse);
      break;
    case Lse::kReshaped:
      add("solved-lse-reshaped", "lse is stored as [rows, heads] and read as [heads, rows]", kWhichLse);
      break;
    case Lse::kNone:
      add("solved-lse-none", "P is computed again without lse: exp(score)", kWhichLse);
      break;
  }
  constexpr const char* kWhichD =
      "Adding a constant to one row of scores must not change out: does your row of dS sum to 0?";
  switch (recipe.delta) {
    case Delta::kClaimed:
      break;
    case Delta::kRight:
      add("solved-D-right", "D is made from right out, not from the one that was handed out", kWhichD);
      break;
    case Delta::kNone:
      add("BW1", "the D term is missing: dS = P dP", kWhichD);
      break;
    case Delta::kMean:
      add("solved-D-mean", "D is the mean of dout * out over the columns, not their sum", kWhichD);
      break;
    case Delta::kOfDout:
      add("solved-D-dout", "D is the sum of dout * dout instead of dout * out", kWhichD);
      break;
    case Delta::kOfOut:
      add("solved-D-out", "D is the sum of out * out instead of dout * out", kWhichD);
      break;
    case Delta::kOverHeads:
      add("solved-D-heads", "D is summed over the heads besides the columns", kWhichD);
      break;
    case Delta::kDoubled:
      add("solved-D-twice", "D is subtracted twice", kWhichD);
      break;
  }
  switch (recipe.formula) {
    case Formula::kRight:
      break;
    case Formula::kAdded:
      add("BW-plus", "D is added instead of subtracted", kWhichD);
      break;
    case Formula::kUnweighted:
      add("solved-dS-unweighted", "D is not multiplied by P: dS = P dP - D instead of P (dP - D)", kWhichD);
      break;
    case Formula::kScaledDp:
      add("solved-dS-scaled-dP", "dP is scaled before D is subtracted: dS = P (scale dP - D)", kWhichD);
      break;
    case Formula::kScaledD:
      add("solved-dS-scaled-D", "D is scaled, and dP is not: dS = P (dP - scale D)", kWhichD);
      break;
    case Formula::kSquared:
      add("solved-dS-squared", "dS is multiplied by P twice", kWhichD);
      break;
  }
  constexpr const char* kWhichFactors =
      "Write the three products of backward with their shapes: which two tensors make this gradient?";
  switch (recipe.product) {
    case Recipe::Product::kRight:
      break;
    case Recipe::Product::kOtherFactor:
      add("solved-product-factor",
          "the weights are right, and they are multiplied with the wrong tensor (right are dS k, dS^T q and "
          "P^T dout)",
          kWhichFactors);
      break;
    case Recipe::Product::kOtherWeights:
    case Recipe::Product::kPlainWeights:
      add("solved-product-weights", "P and dS have changed places (right are dS k, dS^T q and P^T dout)",
          kWhichFactors);
      break;
  }
  constexpr const char* kWhichHeads = "How many query heads have read this key head?";
  switch (recipe.group) {
    case Group::kSum:
      break;
    case Group::kFirst:
      add("GQ4-first", "a group's sum holds its first query head alone", kWhichHeads);
      break;
    case Group::kLast:
      add("GQ4", "a group's sum holds its last query head alone", kWhichHeads);
      break;
    case Group::kMean:
      add("GQ4-average", "the query heads of a group are averaged, not added", kWhichHeads);
      break;
    case Group::kStrided:
      add("solved-group-strided",
          "heads g, g + kv_heads, ... are added for key head g, not the neighbours of its group",
          kWhichHeads);
      break;
  }
  for (const auto& [tensor, head] : {std::pair{"lse", recipe.lse_head}, std::pair{"D", recipe.delta_head},
                                     std::pair{"dout", recipe.dout_head}, std::pair{"q", recipe.query_head}})
    if (head != Head::kRight) causes.push_back(cause_of_head(tensor, head));
  return causes;
}

std::span<const double> Weights::dout(Index batch, Index head, Index row) const {
  const auto [b, h] = read_for(e_.problem, e_.place.count(), recipe_.dout_head, batch, head);
  return row_of(recipe_.out_for_dout ? e_.claim.out : e_.inputs.dout, b, h, row);
}

std::span<const double> Weights::query(Index batch, Index head, Index row) const {
  const auto [b, h] = read_for(e_.problem, e_.place.count(), recipe_.query_head, batch, head);
  return row_of(e_.inputs.q, b, h, row);
}

std::size_t Weights::at(Index batch, Index head, Index row) const {
  return static_cast<std::size_t>(
      (batch * e_.problem.heads + head) * static_cast<Index>(e_.problem.queries.size()) + row);
}

Weights::Weights(const Evidence& e, const Recipe& recipe) : e_(e), recipe_(recipe) {
  const BlockProblem& p = e.problem;
  const auto rows = static_cast<Index>(p.queries.size());
  // What was claimed was rounded when it was written; where it is right, backward had better numbers.
  const auto right = [&](std::string_view name) {
    return std::ranges::none_of(e.comparison.tensors,
                                [=](const TensorComparison& t) { return t.name == name && !t.good(); });
  };
  const Buffer& saved = recipe.lse == Lse::kRight || right("lse") ? e.oracle.value.lse : e.claim.lse;
  const Buffer& out = recipe.delta == Delta::kRight || right("out") ? e.oracle.value.out : e.claim.out;
  const auto plain = [&](Index b, Index h, Index row) {
    const auto dout = row_of(e.inputs.dout, b, h, row), o = row_of(out, b, h, row);
    if (recipe.delta == Delta::kOfDout) return dot(dout, dout);
    if (recipe.delta == Delta::kOfOut) return dot(o, o);
    return dot(dout, o);
  };
  for (Index b = 0; b < p.batch; ++b)
    for (Index h = 0; h < p.heads; ++h)
      for (Index row = 0; row < rows; ++row) {
        auto [entry, head] = read_for(p, e.place.count(), recipe.lse_head, b, h);
        Index place = row;
        if (recipe.lse == Lse::kReshaped) {
          const int shard = e.place.row_owner[static_cast<std::size_t>(row)];
          const auto& mine = e.place.shards[static_cast<std::size_t>(shard)];
          const Index flat =
              h * static_cast<Index>(mine.size()) + e.place.row_local[static_cast<std::size_t>(row)];
          head = flat % p.heads;
          place = mine[static_cast<std::size_t>(flat / p.heads)];
        }
        if (recipe.lse == Lse::kHalves) {
          const auto& mine =
              e.place.shards[static_cast<std::size_t>(e.place.row_owner[static_cast<std::size_t>(row)])];
          const auto size = static_cast<Index>(mine.size()), middle = (size + 1) / 2,
                     at = e.place.row_local[static_cast<std::size_t>(row)];
          place =
              mine[static_cast<std::size_t>(at >= middle ? at - middle : std::min(at + middle, size - 1))];
        }
        double lse = row_of(saved, entry, head, place)[0];
        if (recipe.lse == Lse::kBase2) lse /= std::numbers::ln2;
        if (recipe.lse == Lse::kTimesLn2) lse *= std::numbers::ln2;
        if (recipe.lse == Lse::kNone) lse = 0;
        lse_.push_back(lse);
        double delta = 0;
        if (recipe.delta == Delta::kOverHeads)
          for (Index each = 0; each < p.heads; ++each) delta += plain(b, each, row);
        else if (recipe.delta != Delta::kNone)
          std::tie(entry, head) = read_for(p, e.place.count(), recipe.delta_head, b, h),
                          delta = plain(entry, head, row);
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

Weights::Pair Weights::operator()(Index b, Index h, Index row, Index key) const {
  const std::size_t i = at(b, h, row);
  double shift = lse_[i];
  const int block = e_.place.owner[static_cast<std::size_t>(key)];
  if (recipe_.lse == Lse::kOwnBlock)
    shift = block_lse_[i * static_cast<std::size_t>(e_.place.count()) + static_cast<std::size_t>(block)];
  if (!std::isfinite(shift)) return {0, 0};
  const double scale = recipe_.setting.scale;
  const double score =
      scale * (recipe_.query_head == Head::kRight
                   ? product_of(e_, recipe_.setting, b, h, row, key)
                   : dot(query(b, h, row), row_of(e_.inputs.k, b, h / e_.problem.group(), key)));
  const double p = std::exp(std::min(score - shift, 80.0));
  const double dp = dot(dout(b, h, row), value_of(e_, recipe_.setting, b, h, row, key));
  switch (recipe_.formula) {
    case Formula::kUnweighted:
      return {p, scale * (p * dp - delta_[i])};
    case Formula::kScaledDp:
      return {p, p * (scale * dp - delta_[i])};
    case Formula::kScaledD:
      return {p, p * (dp - scale * delta_[i])};
    case Formula::kSquared:
      return {p, scale * p * p * (dp - delta_[i])};
    case Formula::kRight:
    case Formula::kAdded:
      break;
  }
  return {p, scale * p * (dp - delta_[i])};
}

}  // namespace ringcraft::verify
