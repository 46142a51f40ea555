// Explains wrong dq, dk and dv: first by known mistakes, then by solving for each gradient separately.
#include <algorithm>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/gradient/share_parts.hpp"
#include "verify/diagnose/solve/precision/few_digits.hpp"
#include "verify/diagnose/tiles/blind_rows.hpp"
#include "verify/diagnose/tiles/tile_program.hpp"

namespace ringcraft::verify {
namespace {

// Whether all wrong tensors of a group are zero everywhere.
bool are_all_zero(const Evidence& e, TensorGroup group) {
  for (std::size_t t = 0; t < kAnswerNames.size(); ++t)
    if (group_of(kAnswerNames[t]) == group && e.is_wrong(kAnswerNames[t]) &&
        !all_zero(named(e.claim)[t].tensor))
      return false;
  return any_wrong(e.comparison, group);
}

constexpr GradientName kGradients[] = {GradientName::kDq, GradientName::kDk, GradientName::kDv};

std::size_t tensor_of(GradientName name) { return 2 + static_cast<std::size_t>(name); }

// Tries every explanation for one gradient.
SolvedPass solved_gradient(const Evidence& e, GradientName name, const Setting& forward) {
  const auto pass = [&](const std::optional<Cause>& cause) {
    return cause ? SolvedPass{true, {*cause}, forward} : SolvedPass{};
  };
  SolvedPass solved;
  attempt(solved,
          {{Attempt::When::kUnsolved, [&] { return pass(cause_of_missing(e, tensor_of(name))); }},
           {Attempt::When::kUnsolved, [&] { return pass(cause_of_rounded_shares(e, name, forward)); }},
           {Attempt::When::kUnsolved, [&] { return pass(cause_of_share_law(e, name, forward)); }},
           {Attempt::When::kUnsolved, [&] { return solve_gradient(e, name, forward); }},
           {Attempt::When::kListed, [&] { return pass(cause_of_places(e, tensor_of(name))); }},
           {Attempt::When::kListed, [&] { return pass(cause_of_scaled_share_law(e, name, forward)); }},
           {Attempt::When::kListed, [&] { return pass(cause_of_mixed_recipe(e, name, forward)); }},
           {Attempt::When::kListed, [&] { return pass(cause_of_skipped_sums(e, name, forward)); }},
           {Attempt::When::kVague, [&] { return pass(cause_of_part_factors(e, name, forward)); }},
           {Attempt::When::kVague, [&] { return pass(cause_of_shares(e, name, forward)); }},
           {Attempt::When::kUnsolved,
            [&] { return pass(name == GradientName::kDq ? cause_of_weights(e, true) : std::nullopt); }}});
  return solved;
}

// The wrong gradients, each with its explanation.
using SolvedGradients = std::vector<std::pair<GradientName, SolvedPass>>;

// Whether one of the causes has this id.
bool has(const std::vector<Cause>& causes, const std::string& id) {
  return std::ranges::find(causes, id, &Cause::id) != causes.end();
}

// Explains a gradient by the mistakes of the others where they give its numbers, too.
void prefer_one_mistake(const Evidence& e, const Setting& forward, SolvedGradients& all) {
  const auto is_of_another = [&](GradientName name, const Cause& cause) {
    return std::ranges::any_of(
        all, [&](const auto& each) { return each.first != name && has(each.second.causes, cause.id); });
  };
  for (auto& [name, solved] : all) {
    const auto shared = [&, of = name](const Cause& cause) { return is_of_another(of, cause); };
    if (all.size() < 2 || !solved.solved || std::ranges::all_of(solved.causes, shared)) continue;
    SolvedPass again = solve_gradient_by_pairs(e, name, forward);
    if (again.solved && std::ranges::all_of(again.causes, shared)) solved = std::move(again);
  }
}

// Explains each wrong gradient separately, and merges equal causes into one. Empty if none can be explained.
std::vector<Cause> solved_gradients(const Evidence& e, const ForwardResult& forward, Diagnosis& result) {
  struct Held {
    Cause cause;
    std::vector<std::string> tensors;
  };
  SolvedGradients gradients;
  for (const GradientName name : kGradients)
    if (e.is_wrong(kAnswerNames[tensor_of(name)]))
      gradients.emplace_back(name, solved_gradient(e, name, forward.setting));
  prefer_one_mistake(e, forward.setting, gradients);
  std::vector<Held> all;
  std::vector<std::string> follow;
  for (auto& [name, solved] : gradients) {
    const std::string word(kAnswerNames[tensor_of(name)]);
    if (!solved.solved) continue;
    std::erase_if(solved.causes, [&](const Cause& cause) { return has(forward.causes, cause.id); });
    if (solved.causes.empty() && any_wrong(e.comparison, TensorGroup::kForward)) follow.push_back(word);
    for (Cause& cause : solved.causes) {
      const auto known =
          std::ranges::find(all, cause.sentence, [](const Held& held) { return held.cause.sentence; });
      if (known == all.end())
        all.push_back({std::move(cause), {word}});
      else
        known->tensors.push_back(word);
    }
  }
  std::vector<Cause> causes;
  for (Held& held : all) {
    held.cause.sentence = list_of(held.tensors) + ": " + held.cause.sentence;
    causes.push_back(std::move(held.cause));
  }
  causes = together(std::move(causes));
  if (!follow.empty())
    result.remarks.push_back(list_of(follow) + (follow.size() == 1 ? " is that" : " are those") +
                             " of this wrong forward pass");
  return causes;
}

// Whether each gradient is right except for lost rows.
bool are_lost(const Evidence& e) {
  return std::ranges::all_of(kGradients, [&](GradientName name) {
    return !e.is_wrong(kAnswerNames[tensor_of(name)]) || cause_of_missing(e, tensor_of(name));
  });
}

// Solves for the gradients if known mistakes leave rows unexplained, or only name the ranks on which rows are
// lost.
void solve(const Evidence& e, const ForwardResult& forward, const Known& known, Diagnosis& result) {
  const Found& found = known.found;
  const bool on_some_ranks = !found.matches.empty() && found.matches[0].fit == Fit::kSomeRanks;
  if (!((on_some_ranks && are_lost(e)) || !explains_each_row(found))) return;
  if (!are_numbers(e, TensorGroup::kBackward)) return;
  if (const auto cause = cause_of_tile_index(e, TensorGroup::kBackward))
    result.backward = {*cause};
  else if (std::vector<Cause> causes = solved_gradients(e, forward, result); !causes.empty())
    result.backward = std::move(causes);
  const bool is_known = explains_all(found) || (std::ranges::any_of(result.backward, is_general) &&
                                                explains_each(found, e.comparison, TensorGroup::kBackward));
  if (is_known && !is_clear(result.backward)) result.backward = known.causes;
}

}  // namespace

void explain_backward(const Evidence& e, Ranks ranks, const ForwardResult& forward, Diagnosis& result) {
  const bool forward_wrong = any_wrong(e.comparison, TensorGroup::kForward);
  if (const auto blind = forward_wrong ? std::nullopt : cause_of_blind_rows(e, TensorGroup::kBackward)) {
    result.backward = {*blind};
    return;
  }
  if (is_without_numbers(e, TensorGroup::kBackward)) {
    if (!forward_wrong) append(result.backward, causes_by_numbers(e, TensorGroup::kBackward));
    return;
  }
  if (e.place.hops == 0 && are_all_zero(e, TensorGroup::kBackward)) {
    append(result.backward, causes_by_numbers(e, TensorGroup::kBackward));
    return;
  }
  const bool near = !forward_wrong || has(forward.causes, "solved-cancelled-out");
  if (const auto lost = near ? cause_of_cancelled_weights(e) : std::nullopt) {
    result.backward = with_known(e, TensorGroup::kBackward, *lost);
    return;
  }
  if (forward_wrong && follows(e, forward.found)) {
    result.remarks.push_back(kFollows);
    return;
  }
  const Known known = e.is_wrong("out") ? searched_after(e, forward.found, ranks)
                                        : searched(e, TensorGroup::kBackward, e.oracle.value, ranks);
  result.backward = known.causes;
  solve(e, forward, known, result);
  if (!forward_wrong) {
    if (!explains_all(known.found) && std::ranges::all_of(result.backward, is_general))
      if (const Found pairs = search_gradient_pairs(e, e.oracle.value, e.place); !pairs.matches.empty())
        result.backward = causes_of_known(pairs);
    if (result.backward.empty() || std::ranges::all_of(result.backward, is_general))
      if (const auto rounded = cause_of_rounded_lse(e)) result.backward = {*rounded};
    if (result.backward.empty())  // after a wrong forward pass their size tells nothing
      append(result.backward, causes_by_numbers(e, TensorGroup::kBackward));
    if (known.found.ring) {
      result.place = place_of(e, known.found);
      result.ring = known.found.elsewhere;
    }
  }
}

}  // namespace ringcraft::verify
