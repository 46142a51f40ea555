// Diagnoses a wrong claim: completes it with the oracle's numbers, then explains out and lse, and after them
// the gradients.
#include "verify/diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/diagnose_detail.hpp"

namespace ringcraft::verify {
namespace {

// Fills tensors that a claim does not have with the right numbers, and skips them later: a missing tensor is
// no evidence against a mistake.
void fill_absent(Answer& numbers, const Answer& right, std::array<bool, kAnswerNames.size()>& there) {
  const auto wanted = named(right);
  std::size_t t = 0;
  for (const auto& [name, tensor] : named(numbers)) {
    there[t] = !tensor.empty();
    if (!there[t]) tensor = wanted[t].tensor.clone();
    ++t;
  }
}

// Removes explanations with a refuted cause: what is left of one explains less than all.
std::vector<Cause> without_refuted(const Evidence& e, std::vector<Cause> causes) {
  std::vector<Cause> left;
  for (Conjunction& each : explanations_of(std::move(causes)))
    if (std::ranges::none_of(each, [&](const Cause& cause) { return e.is_refuted(cause); }))
      std::ranges::move(each, std::back_inserter(left));
  return left;
}

Diagnosis explained(const Evidence& e, Ranks ranks, bool derived) {
  Diagnosis result;
  const ForwardResult forward = explain_forward(e, ranks);
  result.forward = forward.causes;
  if (forward.alone) {
    if (any_wrong(e.comparison, TensorGroup::kBackward))
      result.remarks.push_back("the gradients were not examined: mend the forward pass first");
    return result;
  }
  const bool forward_wrong = any_wrong(e.comparison, TensorGroup::kForward);
  if (forward_wrong) {
    result.place = place_of(e, forward.found);
    result.ring = forward.found.elsewhere;
  }
  if (!any_wrong(e.comparison, TensorGroup::kBackward)) return result;
  if (forward_wrong && derived)
    result.remarks.push_back(kFollows);
  else
    explain_backward(e, ranks, forward, result);
  return result;
}

// Expects e.claim completed with the oracle's numbers.
Diagnosis diagnosed(const Evidence& e, Ranks ranks, bool derived) {
  Diagnosis diagnosis = explained(e, ranks, derived);
  for (std::vector<Cause>* causes : {&diagnosis.forward, &diagnosis.backward})
    *causes = without_refuted(e, std::move(*causes));
  return diagnosis;
}

}  // namespace

std::vector<Cause> Diagnosis::causes(std::size_t most) const {
  const std::vector<Conjunction> first = explanations_of(forward), second = explanations_of(backward);
  std::vector<Cause> all;
  const auto take = [&](const Conjunction& causes, bool also, std::size_t room) {
    for (const Cause& cause : causes) {
      if (all.size() >= room) return;
      all.push_back(cause);
      if (&cause == causes.data()) all.back().also = also;
    }
  };
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    const bool keeps_room = i == 0 && most > 1 && !second.empty();  // for a cause of the gradients
    if (i < first.size()) take(first[i], false, keeps_room ? most - 1 : most);
    if (i < second.size()) take(second[i], i == 0 && !first.empty(), most);
  }
  return all;
}

DType type_of_claim(const Answer& claim) {
  for (const Buffer* tensor : {&claim.out, &claim.dq, &claim.dk, &claim.dv})
    if (!tensor->empty()) return tensor->dtype();
  return claim.lse.dtype();
}

bool is_clear(const std::vector<Cause>& causes) { return causes.size() == 1 && !is_general(causes[0]); }

bool are_numbers(const Evidence& e, TensorGroup group) {
  const auto fine = [](const Buffer& tensor, bool of_lse) {
    const auto values = tensor.values<double>();
    return std::ranges::none_of(
               values, [=](double x) { return std::isnan(x) || (std::isinf(x) && !(of_lse && x < 0)); }) &&
           has_numbers(tensor);
  };
  if (group == TensorGroup::kForward) return fine(e.claim.out, false) && fine(e.claim.lse, true);
  return fine(e.claim.dq, false) && fine(e.claim.dk, false) && fine(e.claim.dv, false);
}

bool is_vague(const SolvedPass& solved) {
  return !solved.solved || std::ranges::any_of(solved.causes, is_general);
}

void attempt(SolvedPass& solved, const std::vector<Attempt>& attempts) {
  for (const Attempt& next : attempts) {
    const bool needed = !solved.solved || (next.when != Attempt::When::kUnsolved && is_vague(solved)) ||
                        (next.when == Attempt::When::kListed && solved.listed);
    if (!needed) continue;
    if (SolvedPass pass = next.solve(); pass.solved) solved = std::move(pass);
  }
}

Diagnosis diagnose(const Problem& problem, const Inputs& inputs, const Answer& claim, const Oracle& oracle,
                   const Comparison& comparison, const DiagnoseOptions& options) {
  if (comparison.good || comparison.tensors.empty()) return {};
  const Inputs in = converted(inputs, DType::kFloat64);
  Answer numbers = converted(claim, DType::kFloat64);
  const BlockProblem block = whole(problem);
  const Arrangement place = ring_arrangement(problem);
  Evidence e{block,   place,  &problem,   in,
             numbers, oracle, comparison, options.precision.value_or(type_of_claim(claim))};
  e.no_numbers = options.no_numbers;
  e.refuted = options.refuted;
  e.poll = options.poll;
  fill_absent(numbers, oracle.value, e.there);
  return diagnosed(e, options.ranks, options.derived);
}

Diagnosis diagnose(const AttentionExhibit& x, const std::vector<std::string>& refuted) {
  if (x.comparison.good || x.comparison.tensors.empty()) return {};
  const Inputs in = converted(x.inputs, DType::kFloat64);
  const Oracle right = oracle(x.problem, in, {.rounding = x.rounding});
  Answer numbers = converted(x.claim, DType::kFloat64);
  Evidence e{x.problem, x.place, x.ring ? &*x.ring : nullptr, in, numbers, right, x.comparison, x.precision};
  e.refuted = refuted;
  fill_absent(numbers, right.value, e.there);
  if (e.precision == DType::kFloat32 && !e.ring && is_near_right(e, TensorGroup::kForward) &&
      is_near_right(e, TensorGroup::kBackward))
    return {};
  if (const auto lost = cause_of_lost_start(e, x.before)) {
    Diagnosis result;
    result.backward = {*lost};
    return result;
  }
  return diagnosed(e, Ranks::kKnown, false);
}

std::vector<Cause> causes_of(const AttentionExhibit& exhibit) { return diagnose(exhibit).causes(100); }

bool is_known(const Cause& cause) {
  const auto is_it = [&](const Suspect& suspect) { return suspect.cause.id == cause.id; };
  return std::ranges::any_of(forward_suspects(), is_it) || std::ranges::any_of(backward_suspects(), is_it);
}

bool is_general(const Cause& cause) {
  constexpr std::string_view kGeneral[] = {"solved-pairs",  "solved-merge-weights",
                                           "solved-places", "solved-out-rows",
                                           "solved-shares", "solved-D",
                                           "NaN",           "ZERO"};
  return std::ranges::find(kGeneral, cause.id) != std::end(kGeneral);
}

}  // namespace ringcraft::verify
