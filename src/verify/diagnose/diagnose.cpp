// Diagnosis of a wrong claim (see diagnose.hpp).
#include "verify/diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/solve.hpp"
#include "verify/diagnose/tiles/attention_program.hpp"
#include "verify/diagnose/tiles/blind_rows.hpp"
#include "verify/diagnose/tiles/tile_program.hpp"
#include "verify/diagnose/twisted/scan.hpp"

namespace ringcraft::verify {
namespace {

constexpr std::size_t kMost = 12;  // for a caller who compares several answers

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

// A match as a cause, with what it does not say by itself: which tensors, which ranks, where it was found.
Cause cause_of(const Match& match, const Arrangement& place, const std::string& elsewhere) {
  Cause cause = match.suspect->cause;
  cause.sentence = with_part(cause.sentence, place.part());
  cause.question = with_part(cause.question, place.part());
  if (match.fit == Fit::kSomeTensors) cause.sentence = list_of(match.tensors) + ": " + cause.sentence;
  if (match.fit == Fit::kSomeRanks) {
    std::vector<std::string> ranks;
    for (const int rank : match.ranks) ranks.push_back(std::to_string(rank));
    cause.sentence +=
        "; on " + std::string(ranks.size() == 1 ? "rank " : "ranks ") + list_of(ranks) + " only";
  }
  if (!elsewhere.empty()) cause.sentence += "; fits " + elsewhere;
  cause.sentence += " (by its numbers: " + std::to_string(match.hits) + " of " + std::to_string(match.rows) +
                    " rows looked at)";
  return cause;
}

// The best. Where no mistake explains all tensors, the best for each tensor goes first.
std::vector<Cause> best_of(const Found& found, const std::string& elsewhere) {
  std::vector<const Match*> order;
  const auto take = [&](const Match& match) {
    if (std::none_of(order.begin(), order.end(),
                     [&](const Match* known) { return known->suspect->cause.id == match.suspect->cause.id; }))
      order.push_back(&match);
  };
  std::vector<std::string> explained;
  for (const Match& match : found.matches)
    if (std::any_of(match.tensors.begin(), match.tensors.end(), [&](const std::string& name) {
          return std::find(explained.begin(), explained.end(), name) == explained.end();
        })) {
      take(match);
      explained.insert(explained.end(), match.tensors.begin(), match.tensors.end());
    }
  for (const Match& match : found.matches)  // what explains a part is of no interest beside what explains all
    if (match.fit != Fit::kSomeTensors || found.matches[0].fit == Fit::kSomeTensors) take(match);
  std::vector<Cause> causes;
  for (const Match* match : order)
    if (causes.size() < kMost) causes.push_back(cause_of(*match, found.ring->arrangement(), elsewhere));
  return causes;
}

// Searches one group of tensors; where nothing fits wholly, in other arrangements too.
struct GroupResult {
  std::vector<Cause> causes;
  Found found;
};
GroupResult searched(const Evidence& e, TensorGroup group, const Answer& saved, Ranks ranks) {
  Found found = search(e, group, saved, e.place);
  const bool weak = found.matches.empty() || found.matches[0].fit == Fit::kSomeTensors;
  if (weak && (e.ring == nullptr || ranks == Ranks::kUnknown))
    if (auto other = search_elsewhere(e, group, saved)) {
      std::vector<Cause> causes = best_of(*other, e.ring == nullptr ? "" : other->ring->arrangement().words);
      return {std::move(causes), std::move(*other)};
    }
  std::vector<Cause> causes = best_of(found, "");
  return {std::move(causes), std::move(found)};
}

// Whether the gradients are those of the wrong forward pass, found or not.
bool follows(const Evidence& e, const Found& forward) {
  const TwistedRing ring(e.problem, e.inputs, e.claim, forward.ring ? forward.ring->arrangement() : e.place,
                         e.exponents());
  const Sample sample = sample_of(e, TensorGroup::kBackward, 12, 6);
  const Suspect right_formulas{};  // of a wrong out and lse
  if (match(e, ring, right_formulas, TensorGroup::kBackward, sample).fit == Fit::kAll) return true;
  return !forward.matches.empty() &&
         match(e, ring, *forward.matches[0].suspect, TensorGroup::kBackward, sample).fit == Fit::kAll;
}

void append(std::vector<Cause>& causes, const std::vector<Cause>& more) {
  for (const Cause& cause : more)
    if (causes.size() < kMost &&
        std::none_of(causes.begin(), causes.end(), [&](const Cause& c) { return c.id == cause.id; }))
      causes.push_back(cause);
}

// What leaves no number anywhere has many causes: the finding goes first, then what leaves none on these
// very ranks. Zeros everywhere on one device have few, if any.
GroupResult searched_without_numbers(const Evidence& e) {
  Found found = search(e, TensorGroup::kForward, e.oracle.value, e.place);
  std::erase_if(found.matches, [](const Match& match) { return match.fit != Fit::kAll; });
  std::vector<Cause> causes;
  if (!all_zero(e.claim.out) || e.ring != nullptr || found.matches.empty())
    causes = causes_by_numbers(e, TensorGroup::kForward);
  append(causes, best_of(found, ""));
  return {std::move(causes), std::move(found)};
}

// Mistakes of backward where forward is wrong, too.
GroupResult searched_after(const Evidence& e, const Found& forward, Ranks ranks) {
  if (!forward.matches.empty() && forward.matches[0].fit == Fit::kAll) {
    Found found = search_after(e, forward.matches[0].suspect->twist, forward.ring->arrangement());
    if (!found.matches.empty()) {
      std::vector<Cause> causes = best_of(found, "");
      return {std::move(causes), std::move(found)};
    }
  }
  return searched(e, TensorGroup::kBackward, e.claim, ranks);
}

// The number type of a claim: that of out, or of a gradient; lse alone is often kept in a wider one.
DType type_of_claim(const Answer& claim) {
  for (const Buffer* tensor : {&claim.out, &claim.dq, &claim.dk, &claim.dv})
    if (!tensor->empty()) return tensor->dtype();
  return claim.lse.dtype();
}

// A tensor that a claim does not have speaks against no mistake: it gets the right numbers, and is not looked
// at.
void fill_absent(Answer& numbers, const Answer& right, std::array<bool, kAnswerNames.size()>& there) {
  const auto wanted = named(right);
  std::size_t t = 0;
  for (const auto& [name, tensor] : named(numbers)) {
    there[t] = !tensor.empty();
    if (!there[t]) tensor = wanted[t].tensor.clone();
    ++t;
  }
}

// Whether no row of out is a number, or all are zero.
bool all_rows_missing(const Comparison& comparison, const Buffer& out) {
  if (!out.empty() && all_zero(out)) return true;
  return std::any_of(comparison.tensors.begin(), comparison.tensors.end(), [&](const TensorComparison& t) {
    return t.name == "out" && static_cast<Index>(t.wrong_rows.size()) == out.extents().rows &&
           std::none_of(t.wrong_rows.begin(), t.wrong_rows.end(),
                        [](const auto& row) { return std::isfinite(row.second.got); });
  });
}

}  // namespace

std::vector<Cause> Diagnosis::causes(std::size_t most) const {
  std::vector<Cause> all;
  for (std::size_t i = 0; i < most; ++i) {
    if (i < forward.size() && all.size() < most) all.push_back(forward[i]);
    if (i < backward.size() && all.size() < most) all.push_back(backward[i]);
  }
  return all;
}

namespace {

bool explains_all(const Found& found) {
  return !found.matches.empty() && found.matches[0].fit >= Fit::kSomeRanks;
}

// Whether it explains every row that was looked at, on the ranks that it is said of.
bool explains_each_row(const Found& found) {
  return explains_all(found) &&
         (found.matches[0].fit == Fit::kSomeRanks || found.matches[0].hits == found.matches[0].rows);
}

// Whether all that is known is that keys are lost, which NaN and zeros are a sign of, too.
bool is_of_lost_keys(const Found& found) {
  return !found.matches.empty() && found.matches[0].suspect->twist.tail == TailTwist::kDropped;
}

// Whether a solution says it all with one particular mistake: then it is preferred to a known mistake that
// leaves some rows out.
bool is_clear(const std::vector<Cause>& causes) { return causes.size() == 1 && !is_general(causes[0]); }

// Whether there is something to solve for: no NaN, no infinity (but lse of a row without a key), not all
// zero.
bool are_numbers(const Evidence& e, TensorGroup group) {
  const auto fine = [](const Buffer& tensor, bool of_lse) {
    const auto values = tensor.values<double>();
    return std::ranges::none_of(
               values, [=](double x) { return std::isnan(x) || (std::isinf(x) && !(of_lse && x < 0)); }) &&
           std::ranges::any_of(values, [](double x) { return x != 0 && std::isfinite(x); });
  };
  if (group == TensorGroup::kForward) return fine(e.claim.out, false) && fine(e.claim.lse, true);
  return fine(e.claim.dq, false) && fine(e.claim.dk, false) && fine(e.claim.dv, false);
}

// Whether all wrong tensors of a group are zero everywhere.
bool are_all_zero(const Evidence& e, TensorGroup group) {
  for (std::size_t t = 0; t < kAnswerNames.size(); ++t)
    if (group_of(kAnswerNames[t]) == group && e.is_wrong(kAnswerNames[t]) &&
        !all_zero(named(e.claim)[t].tensor))
      return false;
  return any_wrong(e.comparison, group);
}

// Whether every wrong tensor of a group has a mistake that gives it.
bool explains_each(const Found& found, const Comparison& comparison, TensorGroup group) {
  return std::ranges::all_of(comparison.tensors, [&](const TensorComparison& t) {
    if (t.wrong_rows.empty() || group_of(t.name) != group) return true;
    return std::ranges::any_of(found.matches,
                               [&](const Match& m) { return std::ranges::count(m.tensors, t.name) > 0; });
  });
}

// Each wrong gradient by itself; what is said of several is said once.
void solve_gradients(const Evidence& e, const Setting& forward, Diagnosis& result) {
  struct Held {
    Cause cause;
    std::vector<std::string> tensors;
  };
  std::vector<Held> all;
  std::vector<std::string> follow;
  for (const GradientName name : {GradientName::kDq, GradientName::kDk, GradientName::kDv}) {
    const std::string_view word = kAnswerNames[2 + static_cast<std::size_t>(name)];
    if (!e.is_wrong(word)) continue;
    SolvedPass solved;
    if (const auto cause = cause_of_missing(e, 2 + static_cast<std::size_t>(name)))
      solved = {true, {*cause}, forward};
    if (!solved.solved) solved = solve_gradient(e, name, forward);
    if (!solved.solved)
      if (const auto cause = cause_of_places(e, 2 + static_cast<std::size_t>(name)))
        solved = {true, {*cause}, forward};
    const auto is_vague = [&] { return !solved.solved || std::ranges::any_of(solved.causes, is_general); };
    if (is_vague())
      if (const auto cause = cause_of_part_factors(e, name, forward)) solved = {true, {*cause}, forward};
    if (is_vague())
      if (const auto cause = cause_of_shares(e, name, forward)) solved = {true, {*cause}, forward};
    if (!solved.solved && name == GradientName::kDq)
      if (const auto cause = cause_of_weights(e, true)) solved = {true, {*cause}, forward};
    if (!solved.solved) continue;
    std::erase_if(solved.causes, [&](const Cause& cause) {
      return std::ranges::find(result.forward, cause.id, &Cause::id) != result.forward.end();
    });
    if (solved.causes.empty()) follow.emplace_back(word);
    for (Cause& cause : solved.causes) {
      const auto known =
          std::ranges::find(all, cause.sentence, [](const Held& held) { return held.cause.sentence; });
      if (known == all.end())
        all.push_back({std::move(cause), {std::string(word)}});
      else
        known->tensors.emplace_back(word);
    }
  }
  std::vector<Cause> causes;
  for (Held& held : all) {
    held.cause.sentence = list_of(held.tensors) + ": " + held.cause.sentence;
    causes.push_back(std::move(held.cause));
  }
  if (!causes.empty()) result.backward = std::move(causes);
  if (!follow.empty())
    result.remarks.push_back(list_of(follow) + (follow.size() == 1 ? " is that" : " are those") +
                             " of this wrong forward pass");
}

// Why the gradients are wrong: by a wrong index in all of them, or each by itself.
void solve_backward(const Evidence& e, const Setting& forward, Diagnosis& result) {
  if (const auto cause = cause_of_tile_index(e, TensorGroup::kBackward))
    result.backward = {*cause};
  else
    solve_gradients(e, forward, result);
}

// Solves for out and lse by rows, folds and places where `solved` does not yet; false if a known mistake that
// explains every wrong tensor says more.
bool is_told(const Evidence& e, const Found& found, SolvedPass& solved) {
  const Setting plain{.scale = e.problem.softmax_scale};
  const auto is_vague = [&] { return !solved.solved || std::ranges::any_of(solved.causes, is_general); };
  if (is_vague())
    if (SolvedPass rows = solve_rows(e); rows.solved && std::ranges::none_of(rows.causes, is_general))
      solved = std::move(rows);
  if (is_vague())
    if (const auto cause = cause_of_fold(e)) solved = {true, {*cause}, plain};
  if (!solved.solved) solved = solve_rows(e);
  if (!solved.solved)
    for (const auto& cause : {cause_of_places(e, 0), cause_of_weights(e, false)})
      if (cause && !solved.solved) solved = {true, {*cause}, plain};
  if (!solved.solved) return false;
  return !is_vague() || !explains_each(found, e.comparison, TensorGroup::kForward);
}

// With e.claim completed by the oracle's numbers.
Diagnosis diagnosed(const Evidence& e, Ranks ranks) {
  Diagnosis result;
  const Answer& numbers = e.claim;
  const Comparison& comparison = e.comparison;
  const bool forward_wrong = any_wrong(comparison, TensorGroup::kForward);
  GroupResult forward, backward;
  Setting setting{.scale = e.problem.softmax_scale};
  bool unsolved = true;
  if (const auto unwritten = cause_of_unwritten(e, TensorGroup::kForward)) {
    result.forward = {*unwritten};
    return result;
  }
  if (const auto blind = forward_wrong ? cause_of_blind_rows(e, TensorGroup::kForward) : std::nullopt) {
    result.forward = {*blind};
    return result;
  }
  if (forward_wrong) {
    forward = all_rows_missing(comparison, numbers.out)
                  ? searched_without_numbers(e)
                  : searched(e, TensorGroup::kForward, e.oracle.value, ranks);
    result.forward = forward.causes;
    std::optional<Cause> placed;  // a wrong index, or rows that were left out
    if (!explains_all(forward.found) || is_of_lost_keys(forward.found)) placed = cause_of_unread_blocks(e);
    if (!explains_all(forward.found) && !placed) placed = cause_of_tile_index(e, TensorGroup::kForward);
    if (!explains_all(forward.found) && !placed) placed = cause_of_missing(e, 0);
    if (!explains_all(forward.found) && !placed) placed = cause_of_rounded_state(e);
    if (placed) {
      result.forward = {*placed};
      unsolved = false;
    } else if (!explains_each_row(forward.found) && are_numbers(e, TensorGroup::kForward)) {
      SolvedPass solved = solve_forward(e);
      if (explains_all(forward.found) ? is_clear(solved.causes) : is_told(e, forward.found, solved)) {
        setting = solved.setting;
        unsolved = false;
        result.forward = std::move(solved.causes);
      }
    } else if (!explains_all(forward.found)) {
      if (const auto cause = cause_of_fold(e)) result.forward = {*cause}, unsolved = false;
    }
    if ((unsolved && !explains_all(forward.found)) || std::ranges::all_of(result.forward, is_general) ||
        (!result.forward.empty() && result.forward[0].id == "NaN"))
      if (std::vector<Cause> places = causes_of_program(e); !places.empty()) {
        unsolved = false;
        append(places, result.forward);
        result.forward = std::move(places);
      }
    if (unsolved && !explains_all(forward.found))
      if (Found pairs = search_pairs(e, e.oracle.value, e.place); !pairs.matches.empty()) {
        unsolved = false;
        result.forward = best_of(pairs, "");
        forward.found = std::move(pairs);
      }
    if (unsolved && !forward.found.matches.empty() && !explains_all(forward.found) &&
        !explains_each(forward.found, e.comparison, TensorGroup::kForward))
      result.forward.clear();  // what explains a part of one pass may explain it by chance
    if (result.forward.empty()) append(result.forward, causes_by_numbers(e, TensorGroup::kForward));
  }
  if (any_wrong(comparison, TensorGroup::kBackward)) {
    if (const auto blind = forward_wrong ? std::nullopt : cause_of_blind_rows(e, TensorGroup::kBackward)) {
      result.backward = {*blind};
    } else if (e.place.hops == 0 && are_all_zero(e, TensorGroup::kBackward)) {
      append(result.backward, causes_by_numbers(e, TensorGroup::kBackward));
    } else if (forward_wrong && follows(e, forward.found)) {
      result.remarks.push_back(
          "the gradients are those of this wrong forward pass: nothing more is wrong in backward");
    } else {
      backward = e.is_wrong("out") ? searched_after(e, forward.found, ranks)
                                   : searched(e, TensorGroup::kBackward, e.oracle.value, ranks);
      result.backward = backward.causes;
      const auto missing = [&](GradientName name) {
        const auto tensor = 2 + static_cast<std::size_t>(name);
        return !e.is_wrong(kAnswerNames[tensor]) || cause_of_missing(e, tensor);
      };
      const bool lost = !backward.found.matches.empty() && backward.found.matches[0].fit == Fit::kSomeRanks &&
                        missing(GradientName::kDq) && missing(GradientName::kDk) &&
                        missing(GradientName::kDv);
      if ((lost || !explains_each_row(backward.found)) && are_numbers(e, TensorGroup::kBackward)) {
        solve_backward(e, setting, result);
        const bool known = explains_all(backward.found) ||
                           (std::ranges::any_of(result.backward, is_general) &&
                            explains_each(backward.found, e.comparison, TensorGroup::kBackward));
        if (known && !is_clear(result.backward)) result.backward = backward.causes;
      }
      if (!explains_all(backward.found) && std::ranges::all_of(result.backward, is_general) && !forward_wrong)
        if (const Found pairs = search_gradient_pairs(e, e.oracle.value, e.place); !pairs.matches.empty())
          result.backward = best_of(pairs, "");
      if (result.backward.empty() && !forward_wrong)  // of a wrong forward pass their size says nothing
        append(result.backward, causes_by_numbers(e, TensorGroup::kBackward));
    }
  }
  if (forward_wrong || backward.found.ring)
    result.place = place_of(e, forward_wrong ? forward.found : backward.found);
  return result;
}

}  // namespace

Diagnosis diagnose(const Problem& problem, const Inputs& inputs, const Answer& claim, const Oracle& oracle,
                   const Comparison& comparison, Ranks ranks) {
  if (comparison.good || comparison.tensors.empty()) return {};
  const Inputs in = converted(inputs, DType::kFloat64);
  Answer numbers = converted(claim, DType::kFloat64);
  const BlockProblem block = whole(problem);
  const Arrangement place = ring_arrangement(problem);
  Evidence e{block, place, &problem, in, numbers, oracle, comparison, type_of_claim(claim)};
  fill_absent(numbers, oracle.value, e.there);
  return diagnosed(e, ranks);
}

Diagnosis diagnose(const AttentionExhibit& x) {
  if (x.comparison.good || x.comparison.tensors.empty()) return {};
  const Inputs in = converted(x.inputs, DType::kFloat64);
  const Oracle right = oracle(x.problem, in, {.rounding = x.rounding});
  Answer numbers = converted(x.claim, DType::kFloat64);
  Evidence e{x.problem, x.place, x.ring ? &*x.ring : nullptr, in, numbers, right, x.comparison, x.precision};
  fill_absent(numbers, right.value, e.there);
  if (const auto lost = cause_of_lost_start(e, x.before)) {
    Diagnosis result;
    result.backward = {*lost};
    return result;
  }
  return diagnosed(e, Ranks::kKnown);
}

std::vector<Cause> causes_of(const AttentionExhibit& exhibit) { return diagnose(exhibit).causes(100); }

bool is_general(const Cause& cause) {
  constexpr std::string_view kGeneral[] = {"solved-pairs",  "solved-merge-weights",
                                           "solved-places", "solved-out-rows",
                                           "solved-shares", "solved-D",
                                           "NaN",           "ZERO"};
  return std::ranges::find(kGeneral, cause.id) != std::end(kGeneral);
}

}  // namespace ringcraft::verify
