// A claim, judged and diagnosed (see claim.hpp).
#include "tool/claim.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/rounding_rule.hpp"

namespace ringcraft::tool {
namespace {

constexpr const char* kNothing = "nothing that I know gives these numbers";

// A claim in float64 must be exact; in any other type it may round.
verify::Comparison compared(const verify::Answer& claim, const Problem& problem, const verify::Oracle& oracle,
                            const std::optional<verify::Rounding>& rounding) {
  const auto expect = claim.dq.empty() ? verify::Expect::kForward : verify::Expect::kAll;
  if (!rounding) return verify::compare_exact(claim, oracle, expect);
  const Sharding sharding = problem.sharding();
  return verify::RoundingRule(*rounding).add(claim, oracle, expect, &sharding);
}

void require_all_gradients(const verify::Answer& claim, const verify::Inputs& inputs) {
  if (inputs.has_backward() && (claim.dq.empty() != claim.dk.empty() || claim.dq.empty() != claim.dv.empty()))
    throw Error("--claim", "all of dq, dk, dv, or none of them", "some", "write all three");
}

std::string fault_of(const verify::TensorComparison& tensor) {
  std::string text;
  if (tensor.wrong > 0)
    text = std::to_string(tensor.wrong) + " of " + std::to_string(tensor.total) + " elements wrong";
  for (const verify::GroupFault& fault : tensor.together)
    if (tensor.wrong == 0) text += (text.empty() ? "" : "\n") + verify::described(fault);
  return text;
}

std::string measured_in(verify::Yardstick yardstick) {
  return yardstick == verify::Yardstick::kScale ? "largest error / scale"
                                                : "largest error / standard deviation of rounding";
}

verify::ReportRow row_of(const verify::TensorComparison& tensor, const std::vector<verify::ErrorMap>& maps,
                         verify::Yardstick yardstick) {
  const bool good = tensor.good();
  verify::ReportRow row{.id = tensor.name,
                        .claim = tensor.name + " is attention's",
                        .status = good ? verify::Status::kPassed : verify::Status::kFailed,
                        .sentence = good ? "" : fault_of(tensor),
                        .figures = {{measured_in(yardstick), tensor.worst, {}, ""}}};
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

// Advice if a tensor of the claim has its axes in another order.
std::string advice_on(const verify::Answer& claim, const verify::Oracle& oracle) {
  const Extents got = claim.out.extents(), want = oracle.value.out.extents();
  if (got == want || got != Extents{want.batch, want.rows, want.heads, want.width}) return "";
  return "the claim is " + described(got) + ", [batch, seqlen, heads, head_dim]: write out.transpose(1, 2)" +
         ".contiguous(), and dq, dk, dv likewise";
}

void diagnose_into(ClaimVerdict& verdict, const Problem& problem, const StoredInputs& stored,
                   const verify::Answer& claim, const verify::Oracle& oracle,
                   const verify::Comparison& comparison, verify::Ranks ranks) {
  const verify::Diagnosis diagnosis =
      verify::diagnose(problem, stored.inputs, claim, oracle, comparison, ranks);
  add_causes(verdict.report, {"out", "lse"}, diagnosis.forward, {});
  add_causes(verdict.report, {"dq", "dk", "dv"}, diagnosis.backward, diagnosis.remarks);
  if (!diagnosis.place.empty()) verdict.lines.push_back(diagnosis.place);
  verdict.lines.insert(verdict.lines.end(), diagnosis.remarks.begin(), diagnosis.remarks.end());
  if (ranks == verify::Ranks::kUnknown)
    verdict.lines.push_back("no --ranks and no --layout: " + std::string(name_of(problem.layout)) + " on " +
                            counted(problem.world_size, "rank") +
                            " only names places; where nothing fits, other rings and tiles are tried");
}

}  // namespace

std::string advice_on_shape(const Problem& problem) {
  const Shape& s = problem.shape;
  if (s.heads <= s.seqlen || s.heads < 16) return "";
  return "q has " + counted(s.heads, "head") + " of " + counted(s.seqlen, "token") +
         ": if that is [batch, seqlen, heads, head_dim], write q.transpose(1, 2).contiguous(), and k, v, "
         "dout likewise";
}

ClaimVerdict judge_claim(const Problem& problem, const StoredInputs& stored, verify::Answer claim,
                         verify::Ranks ranks, const PrecisionOptions& precision, const std::string& title) {
  require_all_gradients(claim, stored.inputs);
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const ClaimRule rule = rule_for(stored, claim, precision);
  const verify::Oracle oracle =
      verify::oracle(problem, stored.inputs, {.threads = threads, .rounding = rule.rounding});
  ClaimVerdict verdict{false, {title + ", " + described(rule), {}}, {}};
  const bool no_lse = claim.lse.empty();
  if (no_lse) claim.lse = converted(oracle.value.lse, DType::kFloat64);
  const verify::Comparison comparison = compared(claim, problem, oracle, rule.rounding);
  const std::vector<verify::ErrorMap> maps = verify::error_maps(comparison, problem.sharding());
  for (const verify::TensorComparison& tensor : comparison.tensors)
    verdict.report.rows.push_back(
        no_lse && tensor.name == "lse"
            ? verify::ReportRow{.id = "lse",
                                .claim = "lse is attention's",
                                .sentence = "the claim has none: write it too, it tells more"}
            : row_of(tensor, maps, comparison.yardstick));
  verdict.good = comparison.good;
  if (!comparison.complaint.empty())
    verdict.report.rows.push_back({.id = "shapes",
                                   .claim = "each tensor has the shape that the input gives it",
                                   .status = verify::Status::kFailed,
                                   .sentence = comparison.complaint});
  else
    verdict.lines.push_back(verify::described(comparison, problem.sharding()));
  if (no_lse) claim.lse = Buffer();
  if (!comparison.good && comparison.complaint.empty())
    diagnose_into(verdict, problem, stored, claim, oracle, comparison, ranks);
  if (const auto half = hidden_half_type(claim); half && !verdict.good && !is_half(rule.type))
    verdict.lines.push_back("every number of the claim is a " + std::string(name_of(*half)) +
                            " number: if it was computed in that type, add --dtype " +
                            std::string(name_of(*half)));
  for (const std::string& advice : {advice_on(claim, oracle), advice_on_shape(problem)})
    if (!advice.empty()) verdict.lines.push_back(advice);
  return verdict;
}

}  // namespace ringcraft::tool
