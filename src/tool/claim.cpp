// A claim, judged and diagnosed (see claim.hpp).
#include "tool/claim.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/claims/phases.hpp"
#include "verify/plain_dense.hpp"

namespace ringcraft::tool {
namespace {

constexpr const char* kNothing = "nothing that I know gives these numbers";

// The number type of a claim: that of out, or of a gradient; lse alone is often kept in a wider one.
DType type_of(const verify::Answer& claim) {
  for (const Buffer* tensor : {&claim.out, &claim.dq, &claim.dk, &claim.dv})
    if (!tensor->empty()) return tensor->dtype();
  return claim.lse.dtype();
}

// A claim in float64 must be exact; one in float32 or bfloat16 may round as plain dense attention does.
verify::Comparison compared(const verify::Answer& claim, const Problem& problem, const StoredInputs& stored,
                            const verify::Oracle& oracle) {
  constexpr auto expect = verify::Expect::kPresent;
  if (type_of(claim) == DType::kFloat64) return verify::compare_exact(claim, oracle, expect);
  const verify::Inputs inputs = verify::converted(stored.inputs, DType::kFloat32);
  const verify::Answer dense = verify::converted(verify::plain_dense<float>(problem, inputs), type_of(claim));
  for (const auto& [name, tensor] : verify::named(dense))
    if (!tensor.empty() && name != "lse" && verify::not_finite(tensor))
      throw Error("--input", "tensors whose attention " + std::string(name_of(type_of(claim))) + " can hold",
                  std::string(name) + " of plain dense attention is no number somewhere",
                  "judge it in float64: convert the input and the claim");
  verify::FloatRule rule(type_of(claim));
  return rule.add(claim, dense, oracle, expect);
}

// By which rule, for the reader: a float32 copy of a float64 computation would fail the exact one.
std::string rule_of(const verify::Answer& claim) {
  if (type_of(claim) == DType::kFloat64) return "float64: exact to 1e-12 of each element's scale";
  return std::string(name_of(type_of(claim))) + ": may round as plain dense attention does in it";
}

verify::ReportRow row_of(const verify::TensorComparison& tensor, const std::vector<verify::ErrorMap>& maps) {
  const bool good = tensor.wrong == 0;
  verify::ReportRow row{.id = tensor.name,
                        .claim = tensor.name + " is attention's",
                        .status = good ? verify::Status::kPassed : verify::Status::kFailed,
                        .sentence = good ? ""
                                         : std::to_string(tensor.wrong) + " of " +
                                               std::to_string(tensor.total) + " elements wrong",
                        .figures = {{"largest error / scale", tensor.worst, {}, ""}}};
  for (const verify::ErrorMap& map : maps)
    if (map.tensor == tensor.name) row.maps.push_back(map);
  return row;
}

// Puts causes into the first failed row of their tensors, and says so where there is none.
void add_causes(verify::Report& report, const std::vector<std::string>& names,
                const std::vector<verify::Cause>& causes, const std::vector<std::string>& remarks) {
  for (verify::ReportRow& row : report.rows) {
    if (row.status != verify::Status::kFailed || std::find(names.begin(), names.end(), row.id) == names.end())
      continue;
    row.causes = causes;
    if (causes.empty() && remarks.empty()) row.sentence += "; " + std::string(kNothing);
    return;
  }
}

// Elements of columns that no file has (see Widths in claims/input_forms.hpp) are not counted: they are zeros
// on both sides.
void leave_out_padding(verify::Comparison& comparison, const ClaimToJudge& claim) {
  const Index padded = claim.problem.shape.head_dim;
  for (verify::TensorComparison& tensor : comparison.tensors) {
    if (tensor.name == "lse") continue;
    const bool value = tensor.name == "out" || tensor.name == "dv";
    const Index total = tensor.total / padded * (value ? claim.value_width : claim.key_width);
    comparison.total -= tensor.total - total;
    tensor.total = total;
  }
}

// What was not judged, and why.
std::vector<NotJudged> not_judged(const ClaimToJudge& claim) {
  std::vector<NotJudged> result;
  for (const auto& [name, tensor] : verify::named(claim.answer)) {
    const bool gradient = name[0] == 'd';
    if (!tensor.empty() || (gradient && !claim.stored.inputs.has_backward())) continue;
    result.push_back({std::string(name), gradient
                                             ? "the input has dout, the claim has no " + std::string(name) +
                                                   ": write " + std::string(name.substr(1)) + ".grad, too"
                                             : "the claim has none: write it too, it tells more"});
  }
  for (const std::string& name : claim.unjudged)
    result.push_back({name, "the input has no dout to judge it by: write dout beside q, k, v"});
  return result;
}

void add_rows(ClaimVerdict& verdict, const verify::Comparison& comparison, const Problem& problem) {
  const std::vector<verify::ErrorMap> maps = verify::error_maps(comparison, problem.sharding());
  for (const verify::TensorComparison& tensor : comparison.tensors) {
    verdict.report.rows.push_back(row_of(tensor, maps));
    verdict.judged.push_back(tensor.name);
  }
  for (const NotJudged& each : verdict.not_judged)
    verdict.report.rows.push_back({.id = each.tensor,
                                   .claim = each.tensor + " is attention's",
                                   .weight = 0,  // neither for nor against the claim
                                   .sentence = each.reason});
}

void diagnose_into(ClaimVerdict& verdict, const ClaimToJudge& claim, const verify::Oracle& oracle,
                   const verify::Comparison& comparison) {
  const Problem& problem = claim.problem;
  const verify::Diagnosis diagnosis =
      verify::diagnose(problem, claim.stored.inputs, claim.answer, oracle, comparison, claim.ranks);
  add_causes(verdict.report, {"out", "lse"}, diagnosis.forward, {});
  add_causes(verdict.report, {"dq", "dk", "dv"}, diagnosis.backward, diagnosis.remarks);
  verdict.place = diagnosis.place;
  verdict.remarks = diagnosis.remarks;
  if (claim.ranks == verify::Ranks::kUnknown)
    verdict.remarks.push_back("no --ranks and no --layout: " + std::string(name_of(problem.layout)) + " on " +
                              counted(problem.world_size, "rank") +
                              " only names places; where nothing fits, other rings and tiles are tried");
}

// A remark if the claim is right, or nearly, with its rows in another order.
void try_other_rows(ClaimVerdict& verdict, const ClaimToJudge& claim, const verify::Oracle& oracle,
                    double worst) {
  constexpr double kNear = 0.02;     // of the scale: more than bfloat16 rounds
  constexpr double kMost = 1 << 28;  // elements: some seconds
  const double elements =
      static_cast<double>(oracle.value.out.extents().elements()) * static_cast<double>(claim.others.size());
  if (elements > kMost) return;
  for (const OtherRows& other : claim.others) {
    const verify::Comparison fit = verify::compare_exact(other.read(), oracle, verify::Expect::kPresent);
    if (!fit.complaint.empty() || !(fit.worst < kNear) || !(fit.worst < worst / 10)) continue;
    verdict.remarks.push_back((fit.good ? "right, if you write " : "right but for rounding, if you write ") +
                              other.flag + ": the rows of the claim are in that order");
    return;
  }
}

}  // namespace

ClaimVerdict judge_claim(const ClaimToJudge& claim) {
  const Problem& problem = claim.problem;
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Phases phases;
  phases.begin("computing what is right");
  const verify::Oracle oracle = verify::oracle(problem, claim.stored.inputs, threads);
  phases.begin("comparing");
  verify::Comparison comparison = compared(claim.answer, problem, claim.stored, oracle);
  leave_out_padding(comparison, claim);
  ClaimVerdict verdict{
      .good = comparison.good, .rule = rule_of(claim.answer), .not_judged = not_judged(claim)};
  verdict.report.title = claim.title + ", " + verdict.rule;
  verdict.half = claim.stored.inputs.has_backward() && claim.answer.dq.empty() && claim.answer.dk.empty() &&
                 claim.answer.dv.empty();
  add_rows(verdict, comparison, problem);
  verdict.summary = verify::described(comparison, problem.sharding());
  verdict.first = verify::first_wrong(comparison, problem.sharding());
  phases.begin("looking for the mistake");
  if (!comparison.good) {
    diagnose_into(verdict, claim, oracle, comparison);
    try_other_rows(verdict, claim, oracle, comparison.worst);
  }
  return verdict;
}

}  // namespace ringcraft::tool
