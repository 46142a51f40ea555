// A claim, judged and diagnosed (see claim.hpp).
#include "tool/claim.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/plain_dense.hpp"

namespace ringcraft::tool {
namespace {

constexpr const char* kNothing = "nothing that I know gives these numbers";

// A claim in float64 must be exact; one in float32 or bfloat16 may round as plain dense attention does.
verify::Comparison compared(const verify::Answer& claim, const Problem& problem, const StoredInputs& stored,
                            const verify::Oracle& oracle) {
  const auto expect = claim.dq.empty() ? verify::Expect::kForward : verify::Expect::kAll;
  if (claim.out.dtype() == DType::kFloat64) return verify::compare_exact(claim, oracle, expect);
  const verify::Inputs inputs = verify::converted(stored.inputs, DType::kFloat32);
  const verify::Answer dense =
      verify::converted(verify::plain_dense<float>(problem, inputs), claim.out.dtype());
  for (const auto& [name, tensor] : verify::named(dense))
    if (!tensor.empty() && name != "lse" && verify::not_finite(tensor))
      throw Error("--input",
                  "tensors whose attention " + std::string(name_of(claim.out.dtype())) + " can hold",
                  std::string(name) + " of plain dense attention is no number somewhere",
                  "judge it in float64: convert the input and the claim");
  verify::FloatRule rule(claim.out.dtype());
  return rule.add(claim, dense, oracle, expect);
}

// By which rule, for the reader: a float32 copy of a float64 computation would fail the exact one.
std::string rule_of(const verify::Answer& claim) {
  if (claim.out.dtype() == DType::kFloat64) return "float64: exact to 1e-12 of each element's scale";
  return std::string(name_of(claim.out.dtype())) + ": may round as plain dense attention does in it";
}

void require_all_gradients(const verify::Answer& claim, const verify::Inputs& inputs) {
  if (inputs.has_backward() && (claim.dq.empty() != claim.dk.empty() || claim.dq.empty() != claim.dv.empty()))
    throw Error("--claim", "all of dq, dk, dv, or none of them", "some", "write all three");
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
                         verify::Ranks ranks, const std::string& title) {
  require_all_gradients(claim, stored.inputs);
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const verify::Oracle oracle = verify::oracle(problem, stored.inputs, threads);
  ClaimVerdict verdict{false, {title + ", " + rule_of(claim), {}}, {}};
  const bool no_lse = claim.lse.empty();
  if (no_lse) claim.lse = converted(oracle.value.lse, DType::kFloat64);
  const verify::Comparison comparison = compared(claim, problem, stored, oracle);
  const std::vector<verify::ErrorMap> maps = verify::error_maps(comparison, problem.sharding());
  for (const verify::TensorComparison& tensor : comparison.tensors)
    verdict.report.rows.push_back(
        no_lse && tensor.name == "lse"
            ? verify::ReportRow{.id = "lse",
                                .claim = "lse is attention's",
                                .sentence = "the claim has none: write it too, it tells more"}
            : row_of(tensor, maps));
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
  for (const std::string& advice : {advice_on(claim, oracle), advice_on_shape(problem)})
    if (!advice.empty()) verdict.lines.push_back(advice);
  return verdict;
}

}  // namespace ringcraft::tool
