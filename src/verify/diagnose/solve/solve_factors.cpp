// Solves for factors of the parts of a gradient: of D relative to P dP, of the own block relative to received
// ones, and of every step. Each model is linear, so its factors are solved for and then named.
#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/diagnose/solve/gradient/gradient_lines.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<double>;

// A summand of all lines, and its identity.
struct Summand {
  bool of_d;  // or of P dP
  int step;   // -1: all, -2: those after the first
  Numbers numbers;
};

// All lines of a gradient by a recipe, one after the other; optionally of some steps only.
std::pair<Numbers, Numbers> all_lines(const Evidence& e, GradientName name, const Recipe& recipe, int step) {
  GradientLines lines(e, name, recipe);
  std::pair<Numbers, Numbers> all;
  for (int line = 0; line < lines.count(); ++line) {
    const auto [given, wanted] = lines.direct(line, [&](int shard, int block) {
      const int t = e.place.ring ? e.place.wrapped(shard - block) : block;
      return step == -1 || (step == -2 ? t > 0 : t == step);
    });
    all.first.insert(all.first.end(), given.begin(), given.end());
    all.second.insert(all.second.end(), wanted.begin(), wanted.end());
  }
  return all;
}

std::string named_factor(const Evidence& e, double factor) {
  const BlockProblem& p = e.problem;
  const double near = is_half(e.precision) ? 3e-2 : 1e-4;
  const std::pair<double, const char*> known[] = {
      {1, "right"},
      {1 / p.softmax_scale, "without the softmax scale"},
      {p.softmax_scale, "with the softmax scale once too often"},
      {e.place.count(), "multiplied by the number of ranks"},
      {1.0 / e.place.count(), "divided by the number of ranks"},
      {static_cast<double>(p.head_dim), "multiplied by head_dim"},
      {1 / static_cast<double>(p.head_dim), "divided by head_dim"},
      {-1, "with the wrong sign"},
      {2, "taken twice"},
      {0.5, "taken half"}};
  if (std::fabs(factor) < near) return "missing";
  std::string words;
  for (const auto& [value, word] : known)
    if (std::fabs(factor / value - 1) < near && words.find(word) == std::string::npos)
      words += (words.empty() ? "" : " (or, which gives the same here, ") + std::string(word);
  if (std::ranges::count(words, '(') > 0)
    words += std::string(static_cast<std::size_t>(std::ranges::count(words, '(')), ')');
  return words.empty() ? "multiplied by " + short_number(factor) : words;
}

std::string words_of(const Evidence& e, const Summand& part, bool split, double factor) {
  const std::string what = !split ? "the part" : part.of_d ? "D" : "dP";
  const std::string where = part.step == -1   ? ""
                            : part.step == -2 ? " of the blocks that arrive"
                            : part.step == 0  ? " of the own block"
                                              : " of step " + std::to_string(part.step);
  return what + where + " is " + named_factor(e, factor);
}

// Describes the factors of these summands; empty if they do not give the claim.
std::optional<Cause> cause_of_model(const Evidence& e, const std::vector<Summand>& parts, bool split,
                                    const Numbers& wanted) {
  std::vector<Numbers> columns;
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (std::ranges::any_of(parts[i].numbers, [](double x) { return x != 0; }))
      columns.push_back(parts[i].numbers), used.push_back(i);
  if (columns.size() < 2 || 2 * columns.size() > wanted.size()) return {};
  const auto [factors, left] = least_squares(columns, wanted);
  if (!(left <= 2 * yardsticks_of(e).threshold)) return {};
  const double near = is_half(e.precision) ? 3e-2 : 1e-4;
  std::string words;
  for (std::size_t i = 0; i < factors.size(); ++i)
    if (std::fabs(factors[i] - 1) > near)
      words += (words.empty() ? "" : ", ") + words_of(e, parts[used[i]], split, factors[i]);
  if (words.empty()) return {};
  return Cause{split ? "solved-factor-D" : "solved-factor-steps", words,
               split ? "dS = P (dP - D): which factors do dP and D get?"
                     : "Which factors does a part get at each step before it is added?"};
}

}  // namespace

std::optional<Cause> cause_of_part_factors(const Evidence& e, GradientName name, const Setting& forward) {
  Recipe right{.setting = forward}, without = right;
  without.delta = Recipe::Delta::kNone;
  const bool has_d = name != GradientName::kDv;
  const auto summands = [&](const std::vector<int>& steps, bool split) {
    std::vector<Summand> parts;
    for (const int step : steps) {
      Numbers whole = all_lines(e, name, right, step).first;
      if (!split) {
        parts.push_back({false, step, std::move(whole)});
        continue;
      }
      Numbers plain = all_lines(e, name, without, step).first;
      for (std::size_t i = 0; i < whole.size(); ++i) whole[i] -= plain[i];
      parts.push_back({false, step, std::move(plain)});
      parts.push_back({true, step, std::move(whole)});
    }
    return parts;
  };
  const Numbers wanted = all_lines(e, name, right, -1).second;
  std::vector<int> each;
  for (int step = 0; step < e.place.count(); ++step) each.push_back(step);
  const bool several = e.place.count() > 1;
  if (has_d)
    if (const auto cause = cause_of_model(e, summands({-1}, true), true, wanted)) return cause;
  if (several && e.place.ring)
    if (const auto cause = cause_of_model(e, summands({0, -2}, false), false, wanted)) return cause;
  if (several && has_d && e.place.ring)
    if (const auto cause = cause_of_model(e, summands({0, -2}, true), true, wanted)) return cause;
  if (several && each.size() <= 8) return cause_of_model(e, summands(each, false), false, wanted);
  return {};
}

}  // namespace ringcraft::verify
