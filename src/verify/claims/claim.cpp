// Judges a claim: picks the rule, runs the oracle, compares every tensor, adds a row of the report for each,
// and runs the diagnosis if the claim is wrong. If it is wrong in the order read, it tries the other orders
// of its rows, too.
#include "verify/claims/claim.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/oracle/rounding_rule.hpp"

namespace ringcraft::verify {
namespace {

// A claim in float64 must be exact; in any other type it may round.
Comparison compared(const Answer& claim, const Problem& problem, const Oracle& oracle,
                    const std::optional<Rounding>& rounding) {
  constexpr auto expect = Expect::kPresent;
  if (!rounding) return compare_exact(claim, oracle, expect);
  const Sharding sharding = problem.sharding();
  return RoundingRule(*rounding).add(claim, oracle, expect, &sharding);
}

std::string fault_of(const TensorComparison& tensor) {
  std::string text;
  if (tensor.wrong > 0)
    text = std::to_string(tensor.wrong) + " of " + std::to_string(tensor.total) + " elements wrong";
  for (const GroupFault& fault : tensor.together)
    if (tensor.wrong == 0) text += (text.empty() ? "" : "\n") + described(fault);
  return text;
}

std::string measured_in(Yardstick yardstick) {
  return yardstick == Yardstick::kScale ? "largest error / scale"
                                        : "largest error / standard deviation of rounding";
}

ReportRow row_of(const TensorComparison& tensor, const std::vector<ErrorMap>& maps, Yardstick yardstick) {
  const bool good = tensor.good();
  ReportRow row{.id = tensor.name,
                .claim = tensor.name + " agrees with the oracle",
                .status = good ? Status::kPassed : Status::kFailed,
                .sentence = good ? "" : fault_of(tensor),
                .figures = {{measured_in(yardstick), tensor.worst, {}, ""},
                            {"largest share of a bound", tensor.worst_share, {}, ""}}};
  for (const ErrorMap& map : maps)
    if (map.tensor == tensor.name) row.maps.push_back(map);
  return row;
}

// Puts the causes into the row of the first failed tensor among `names`; without causes, says so in all of
// their failed rows.
void add_causes(Report& report, const std::vector<std::string>& names, const std::vector<Cause>& causes,
                const std::vector<std::string>& remarks) {
  for (ReportRow& row : report.rows) {
    if (row.status != Status::kFailed || std::find(names.begin(), names.end(), row.id) == names.end())
      continue;
    row.causes = causes;
    row.unexplained = causes.empty() && remarks.empty();
    if (!row.unexplained) return;
  }
}

// Ignores columns that no file has (see Widths in input_forms.hpp): they are zeros on both sides, and
// rounding does not reach them.
void leave_out_padding(Answer& deviation, const ClaimToJudge& claim) {
  for (const auto& [name, tensor] : named(deviation)) {
    const Index width = name == "lse" || tensor.empty() ? 1 : tensor.extents().width;
    const Index own = name == "lse" ? 1 : name == "out" || name == "dv" ? claim.value_width : claim.key_width;
    const auto numbers = tensor.empty() ? std::span<double>() : tensor.values<double>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (static_cast<Index>(i) % width >= own) numbers[i] = 0;
  }
}

// Does not count them either.
void leave_out_padding(Comparison& comparison, const ClaimToJudge& claim) {
  const Index padded = claim.problem.shape.head_dim;
  for (TensorComparison& tensor : comparison.tensors) {
    if (tensor.name == "lse") continue;
    const bool value = tensor.name == "out" || tensor.name == "dv";
    const Index total = tensor.total / padded * (value ? claim.value_width : claim.key_width);
    comparison.total -= tensor.total - total;
    tensor.total = total;
  }
}

// Tensors that were not judged, each with its reason.
std::vector<NotJudged> not_judged(const ClaimToJudge& claim) {
  std::vector<NotJudged> result;
  for (const auto& [name, tensor] : named(claim.answer)) {
    const bool gradient = name[0] == 'd';
    if (!tensor.empty() || (gradient && !claim.stored.inputs.has_backward())) continue;
    result.push_back({std::string(name), gradient
                                             ? "the input has dout, the claim has no " + std::string(name) +
                                                   ": write " + std::string(name.substr(1)) + ".grad, too"
                                             : "the claim has none; add it, so that more can be found"});
  }
  for (const std::string& name : claim.unjudged)
    result.push_back({name, "the input has no dout to judge it by: write dout beside q, k, v"});
  return result;
}

// "out is bfloat16, dq float32", if the tensors have several types; lse is often kept in a wider one.
std::string mixed_types(const Answer& answer) {
  std::string text;
  std::set<DType> types;
  for (const auto& [name, tensor] : named(answer)) {
    if (tensor.empty() || name == "lse") continue;
    if (types.insert(tensor.dtype()).second)
      text += (text.empty() ? "" : ", ") + std::string(name) + (text.empty() ? " is " : " ") +
              std::string(name_of(tensor.dtype()));
  }
  return types.size() > 1 ? text : "";
}

void add_rows(ClaimVerdict& verdict, const Comparison& comparison, const Problem& problem) {
  const std::vector<ErrorMap> maps = error_maps(comparison, problem.sharding());
  for (const TensorComparison& tensor : comparison.tensors) {
    verdict.report.rows.push_back(row_of(tensor, maps, comparison.yardstick));
    verdict.judged.push_back(tensor.name);
  }
  for (const NotJudged& each : verdict.not_judged)
    verdict.report.rows.push_back({.id = each.tensor,
                                   .claim = each.tensor + " agrees with the oracle",
                                   .weight = 0,  // counts neither for nor against the claim
                                   .sentence = each.reason});
}

// The first few: as many as a person reads.
std::vector<Cause> first_of(std::vector<Cause> causes) {
  causes.resize(std::min<std::size_t>(causes.size(), 3));
  return causes;
}

void add_diagnosis(ClaimVerdict& verdict, const ClaimToJudge& claim, const Diagnosis& diagnosis, DType type) {
  const bool in_forward = std::ranges::any_of(verdict.report.rows, [](const ReportRow& row) {
    return row.status == Status::kFailed && (row.id == "out" || row.id == "lse");
  });
  add_causes(verdict.report, {"out", "lse"}, first_of(diagnosis.forward), {});
  add_causes(verdict.report, {"dq", "dk", "dv"},
             in_forward ? first_of(diagnosis.backward) : diagnosis.causes(), diagnosis.remarks);
  verdict.place = diagnosis.place;
  verdict.remarks.insert(verdict.remarks.end(), diagnosis.remarks.begin(), diagnosis.remarks.end());
  const bool nothing = diagnosis.forward.empty() && diagnosis.backward.empty();
  if (nothing && type != DType::kFloat64)
    verdict.remarks.push_back(
        "rounding hides the traces of mistakes: more may be found in float64" +
        (claim.precision.spelling == Spelling::kKeywords
             ? ", with " + option_text(claim.precision.spelling, "dtype", name_of(DType::kFloat64))
             : ""));
  if (claim.diagnose.ranks == Ranks::kKnown) return;
  const Problem& ring = diagnosis.ring ? *diagnosis.ring : claim.problem;
  verdict.remarks.push_back(
      "no " + option_text(claim.precision.spelling, "ranks") + " and no " +
      option_text(claim.precision.spelling, "layout") + ": places are those of " +
      std::string(name_of(ring.layout)) + " on " + counted(ring.world_size, "rank") +
      (nothing ? "; add them if the claim is a ring's: more mistakes can be found in a known ring" : ""));
}

// Converts a claim that was written in a wider type back to its half type, tensor by tensor, where that loses
// nothing: else the diagnosis takes the rounding to that type for a mistake.
Answer narrowed(const Answer& claim, DType type) {
  Answer result;
  const auto from = named(claim);
  auto to = named(result);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Buffer& tensor = from[i].tensor;
    if (tensor.empty()) continue;
    to[i].tensor = fits_into(tensor, type) ? ringcraft::converted(tensor, type) : tensor.clone();
  }
  return result;
}

void tell(const ClaimToJudge& claim, JudgingPhase phase, double share = 0) {
  if (claim.progress) claim.progress(phase, share);
}

Oracle oracle_of(const ClaimToJudge& claim, const std::optional<Rounding>& rounding,
                 std::function<void(double)> progress) {
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return oracle(claim.problem, claim.stored.inputs,
                {.threads = threads, .rounding = rounding, .progress = std::move(progress)});
}

bool tells(const Diagnosis& diagnosis) { return !std::ranges::all_of(diagnosis.causes(), is_general); }

// The diagnosis of a claim in a half type as one of a kernel that keeps its scores in float32. Its out may be
// wrong, and within what rounding can do if scores are rounded, too: a mistake of forward that explains all
// gradients is then the cause.
Diagnosis diagnosis_of_kernel(const ClaimToJudge& claim, const Answer& answer, DType type,
                              const Comparison& comparison) {
  Rounding rounding = tensor_core_rounding(type, type);
  rounding.partials = rounding.results;  // a ring calls it for each block
  Oracle oracle = oracle_of(claim, rounding, [&](double) {
    if (claim.diagnose.poll) claim.diagnose.poll();
  });
  leave_out_padding(oracle.deviation, claim);
  const auto by = [&](const Comparison& compared) {
    return diagnose(claim.problem, claim.stored.inputs, answer, oracle, compared, claim.diagnose);
  };
  const auto out_is_wrong = [](const Comparison& compared) {
    return std::ranges::any_of(compared.tensors,
                               [](const TensorComparison& t) { return t.name == "out" && !t.good(); });
  };
  if (const Comparison finer = compared(answer, claim.problem, oracle, rounding);
      out_is_wrong(finer) && !out_is_wrong(comparison))
    if (Diagnosis found = by(finer);
        !found.forward.empty() && is_known(found.forward.front()) && found.backward.empty())
      return found;
  return by(comparison);
}

// The likelier of two diagnoses of the same claim, compared finely and coarsely. A bound of rounding belongs
// to the right number: a gradient that takes another one's place may round more, so that a known mistake
// shows coarsely alone.
Diagnosis likelier(Diagnosis fine, Diagnosis coarse) {
  const auto known = [](const std::vector<Cause>& causes) {
    return !causes.empty() && is_known(causes.front());
  };
  const bool gradients_alone = fine.forward.empty() && coarse.forward.empty();
  if (tells(fine) && !(gradients_alone && known(coarse.backward) && !known(fine.backward))) return fine;
  return tells(coarse) || fine.causes().empty() ? coarse : fine;
}

// A claim is compared as finely as it may have been computed, too, and not only as coarsely as it is judged.
// Finely: code that returns a wider type than it computes scores in, and kernels of half types.
Diagnosis diagnosis_of(const ClaimToJudge& claim, DType type, const Oracle& oracle,
                       const Comparison& comparison) {
  const auto by = [&](const Answer& answer, std::optional<DType> precision) {
    DiagnoseOptions options = claim.diagnose;
    options.precision = precision;
    return diagnose(claim.problem, claim.stored.inputs, answer, oracle, comparison, options);
  };
  if (!is_half(type)) return by(claim.answer, type);
  const Answer answer = narrowed(claim.answer, type);
  Diagnosis fine = is_half(type_of_claim(answer)) ? diagnosis_of_kernel(claim, answer, type, comparison)
                                                  : by(answer, std::nullopt);
  if (!fine.forward.empty() && tells(fine)) return fine;
  return likelier(std::move(fine), by(answer, type));
}

// Adds a remark if the claim is right with its rows in another order, or wrong there by less than a tenth.
void try_other_rows(ClaimVerdict& verdict, const ClaimToJudge& claim, const Oracle& oracle,
                    const std::optional<Rounding>& rounding) {
  constexpr double kNear = 0.02;     // of the scale: more than rounding to bfloat16
  constexpr double kMost = 1 << 28;  // elements: some seconds
  const double elements =
      static_cast<double>(oracle.value.out.extents().elements()) * static_cast<double>(claim.others.size());
  if (claim.others.empty() || elements > kMost) return;
  const double worst = compare_exact(claim.answer, oracle, Expect::kPresent).worst;
  for (const OtherRows& other : claim.others) {
    const Answer answer = other.read();
    const Comparison fit = compare_exact(answer, oracle, Expect::kPresent);
    if (fit.total == 0 || !fit.complaint.empty() || !(fit.worst < kNear) || !(fit.worst < worst / 10))
      continue;
    const bool good = compared(answer, claim.problem, oracle, rounding).good;
    verdict.remarks.push_back((good ? "right, if you " : "wrong still, but far less, if you ") +
                              other.remedy);
    return;
  }
}

}  // namespace

ClaimVerdict judge_claim(const ClaimToJudge& claim) {
  const Problem& problem = claim.problem;
  const ClaimRule rule = rule_for(claim.stored, claim.answer, claim.precision);
  tell(claim, JudgingPhase::kOracle);
  Oracle oracle =
      oracle_of(claim, rule.rounding, [&](double share) { tell(claim, JudgingPhase::kOracle, share); });
  leave_out_padding(oracle.deviation, claim);
  tell(claim, JudgingPhase::kComparing);
  Comparison comparison = compared(claim.answer, problem, oracle, rule.rounding);
  leave_out_padding(comparison, claim);
  ClaimVerdict verdict{.good = comparison.good,
                       .wrong = comparison.wrong,
                       .worst_share = comparison.worst_share,
                       .rule = sentence_of(rule),
                       .not_judged = not_judged(claim)};
  verdict.report.title = claim.title + ", " + verdict.rule;
  verdict.half = claim.stored.inputs.has_backward() && claim.answer.dq.empty() && claim.answer.dk.empty() &&
                 claim.answer.dv.empty();
  if (const std::string types = mixed_types(claim.answer); !types.empty())
    verdict.remarks.push_back(
        types + ": all are judged as " + std::string(name_of(rule.type)) +
        ", the narrowest; dump one type, or one tensor at a time, to judge each by its own");
  Diagnosis diagnosis;
  if (!comparison.good && claim.diagnose.causes) {
    tell(claim, JudgingPhase::kDiagnosing);
    diagnosis = diagnosis_of(claim, rule.type, oracle, comparison);
  }
  const Problem& ring = diagnosis.ring ? *diagnosis.ring : problem;
  add_rows(verdict, comparison, ring);
  verdict.summary = described(comparison, ring.sharding());
  verdict.first = first_wrong(comparison, ring.sharding());
  for (const TensorComparison& tensor : comparison.tensors)
    verdict.together.insert(verdict.together.end(), tensor.together.begin(), tensor.together.end());
  if (comparison.good || !claim.diagnose.causes) return verdict;
  add_diagnosis(verdict, claim, diagnosis, rule.type);
  try_other_rows(verdict, claim, oracle, rule.rounding);
  if (const auto half = hidden_half_type(claim.answer); half && !is_half(rule.type))
    verdict.remarks.push_back("every number of the claim is a " + std::string(name_of(*half)) +
                              " number: if it was computed in that type, add " +
                              option_text(claim.precision.spelling, "dtype", name_of(*half)));
  return verdict;
}

}  // namespace ringcraft::verify
