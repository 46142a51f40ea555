// Solves for one gradient. With P and dS by a recipe,
//   dq = sum of c_x (sum over x of dS k),  dk = sum of c_x (sum over x of dS q),  dv likewise of P dout
// over the cells x of all pairs. Tries recipes unchanged first, then with one factor, then cell by cell.
#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/solve/gradient/gradient_lines.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/solve/tell.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<double>;

// Names a factor as a cause, with every other number of the problem that it may be, too.
Cause cause_of_factor(const Evidence& e, GradientName name, double factor) {
  const bool dq = name == GradientName::kDq;
  const BlockProblem& p = e.problem;
  struct Known {
    double value;
    const char *id, *words;
    bool of_group = false;
  };
  std::vector<Known> known{
      {1 / p.softmax_scale, dq ? "BW7-dq" : "BW7", "the softmax scale is missing"},
      {p.softmax_scale, dq ? "BW7-twice" : "BW7-dk-twice",
       name == GradientName::kDv ? "multiplied by the softmax scale, which has no place here"
                                 : "the softmax scale is applied twice"},
      {-1, "BW8", "the sign is wrong"},
      {1.0 / e.place.count(), "RB11",
       e.place.ring ? "divided by the number of ranks" : "divided by the number of tiles"},
      {static_cast<double>(e.place.count()), "GR2",
       e.place.ring ? "multiplied by the number of ranks: summed once more"
                    : "multiplied by the number of tiles"},
      {1 / static_cast<double>(p.group()), "GQ4-average", "divided by the number of query heads of a group",
       true},
      {static_cast<double>(p.group()), "solved-factor-group",
       "multiplied by the number of query heads of a group", true},
      {0.69314718055994531, "solved-factor-ln2", "multiplied by ln 2"},
      {1.4426950408889634, "solved-factor-log2e", "multiplied by log2(e)"},
      {1 / static_cast<double>(p.batch), "solved-factor-batch", "divided by the number of batch entries"},
      {2, "solved-factor-2", "twice what it should be"},
      {0.5, "solved-factor-half", "half of what it should be"}};
  if (dq)  // a gradient of queries is no sum over the heads of a group
    std::ranges::stable_sort(known, {}, &Known::of_group);
  const double near = is_half(e.precision) ? 2e-2 : 1e-4;
  std::erase_if(known, [&](const Known& each) {
    return std::fabs(each.value - 1) <= 1e-6 || !(std::fabs(factor / each.value - 1) < near);
  });
  constexpr auto kQuestion = "Which factors does this gradient get, and how often each?";
  if (known.empty()) return {"solved-factor", std::to_string(factor) + " times what it should be", kQuestion};
  std::string words = known[0].words;
  for (std::size_t i = 1; i < known.size(); ++i)
    words += (i == 1 ? " (or, which is the same here, " : ", or ") + std::string(known[i].words);
  return {known[0].id, words + (known.size() > 1 ? ")" : ""), kQuestion};
}

double misfit(const Numbers& given, const Numbers& wanted, double factor) {
  Numbers left = wanted;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] -= factor * given[i];
  return residual_of(left, 0);
}

// The constant factor between a recipe's result and the claim, if there is one. The first line rules most
// recipes out.
std::optional<double> factor_of(GradientLines& lines, double threshold) {
  double product = 0, square = 0;
  std::vector<std::pair<Numbers, Numbers>> all;
  const auto fits = [&](double factor) {
    return std::ranges::all_of(
        all, [&](const auto& each) { return misfit(each.first, each.second, factor) <= threshold; });
  };
  const auto factor = [&] { return square > 0 ? product / square : 0; };
  for (int line = 0; line < lines.count(); ++line) {
    const auto& [given, wanted] = all.emplace_back(lines.direct(line));
    for (std::size_t i = 0; i < given.size(); ++i)
      product += given[i] * wanted[i], square += given[i] * given[i];
    if (!fits(1) && !fits(factor())) return {};
  }
  if (fits(1)) return 1.0;
  if (std::fabs(factor()) < 1e-3 || !std::isfinite(factor())) return {};
  return factor();
}

std::optional<std::vector<Cause>> told_by(const Evidence& e, GradientName name, GradientLines& lines,
                                          MaskSet masks, bool with_others, KnownCells& known, bool& listed) {
  std::vector<LineSystem> solved;
  for (int line = 0; line < lines.count(); ++line) {
    solved.push_back(lines.solved(line, masks, with_others, known));
    if (!solved.back().possible) return {};
  }
  std::vector<Cause> causes;
  listed = false;
  if (const auto told = tell(e.place, solved, yardsticks_of(e).threshold)) {
    listed = std::ranges::any_of(*told, [](const Told& each) { return each.where.pairs.size() > 1; });
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
    std::vector<Cause> causes = causes_of(recipe, name, forward, e.place);
    if (*factor != 1) causes.push_back(cause_of_factor(e, name, *factor));
    return {true, std::move(causes), recipe.setting};
  }
  return solve_gradient_by_pairs(e, name, forward);
}

SolvedPass solve_gradient_by_pairs(const Evidence& e, GradientName name, const Setting& forward) {
  const std::vector<Recipe> recipes = recipes_of(e, name, forward);
  SolvedPass best;
  const std::pair<MaskSet, bool> tries[] = {
      {MaskSet::kCommon, false}, {MaskSet::kAll, false}, {MaskSet::kCommon, true}};
  std::size_t fewest = static_cast<std::size_t>(-1);
  for (const auto& [masks, with_others] : tries) {
    KnownCells cells;
    for (std::size_t r = 0; r < std::min<std::size_t>(recipes.size(), 10) && !(with_others && r > 3); ++r) {
      GradientLines lines(e, name, recipes[r]);
      bool listed = false;
      const auto told = told_by(e, name, lines, masks, with_others, cells, listed);
      if (!told) continue;
      std::vector<Cause> causes = causes_of(recipes[r], name, forward, e.place);
      causes.insert(causes.end(), told->begin(), told->end());
      const std::size_t size = causes.size() + (std::ranges::any_of(causes, is_general) ? 3 : 0);
      if (size >= fewest) continue;
      fewest = size;
      best = {true, std::move(causes), recipes[r].setting, listed};
    }
    if (best.solved && (masks == MaskSet::kAll || fewest < 2)) break;
  }
  return best;
}

}  // namespace ringcraft::verify
