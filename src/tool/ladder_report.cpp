// The climb and its tables (see ladder_report.hpp).
#include "tool/ladder_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "ringcraft/ring/theory.hpp"
#include "tool/output.hpp"
#include "verify/compare.hpp"

namespace ringcraft::tool {
namespace {

using verify::Answer;
using verify::Comparison;
using verify::Figure;
using verify::Measurement;
using verify::Oracle;
using verify::Stage;

// ---- errors

// Largest difference of two answers, each element in units of its scale.
double largest_error(const Answer& got, const Answer& want, Oracle& oracle, verify::Expect expect) {
  Oracle reference{verify::converted(want, DType::kFloat64), std::move(oracle.scale)};
  const Comparison comparison = verify::compare_exact(got, reference, expect);
  oracle.scale = std::move(reference.scale);
  return comparison.worst;
}

// float64 is exact; a float32 stage may be as far from the oracle as dense attention in float32 is, and dense
// itself about as far as rounding the oracle's numbers to float32.
Comparison judged(const Answer& got, const Answer* dense, const Oracle& oracle, verify::Expect expect) {
  const DType type = got.out.dtype();
  if (type == DType::kFloat64) return verify::compare_exact(got, oracle, expect);
  verify::FloatRule rule(type);
  return dense ? rule.add(got, *dense, oracle, expect)
               : rule.add(got, verify::converted(oracle.value, type), oracle, expect);
}

// ---- costs

struct Cost {
  double peak_bytes = 0, bytes_sent = 0, exchanges = 0, imbalance = 0;
};

Index largest(const std::vector<Index>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

Cost measured(const Measurement& measurement) {
  Cost cost;
  for (const verify::PassCost* pass : {&measurement.forward, &measurement.backward}) {
    if (pass->peak_bytes.empty()) continue;
    cost.peak_bytes = std::max(cost.peak_bytes, static_cast<double>(pass->peak()));
    cost.bytes_sent += static_cast<double>(pass->bytes_sent());
    Index messages = 0;
    for (const Traffic& traffic : pass->traffic) messages = std::max(messages, traffic.messages_sent);
    cost.exchanges += static_cast<double>(messages) / 2;  // K and V are two messages
    cost.imbalance = std::max(cost.imbalance, pass->imbalance());
  }
  return cost;
}

Cost predicted(const Stage& stage, const Problem& shared, DType type, bool backward) {
  const RoleBytes bytes{size_of(type), size_of(type)};
  if (stage.peak_elements != nullptr)
    return {.peak_bytes = static_cast<double>(stage.peak_elements(shared.shape, backward)) *
                          static_cast<double>(size_of(type))};
  const Problem problem = verify::problem_of(stage, shared);
  std::vector<RingTheory> passes{stage.theory(problem, bytes)};
  if (backward) passes.push_back(backward_theory(problem, *stage.schedule, bytes));
  Cost cost;
  for (const RingTheory& pass : passes) {
    cost.peak_bytes = std::max(cost.peak_bytes, static_cast<double>(largest(pass.peak_bytes)));
    cost.bytes_sent += static_cast<double>(largest(pass.bytes_sent));
    cost.exchanges += static_cast<double>(largest(pass.messages_sent)) / 2;
    cost.imbalance = std::max(cost.imbalance, pass.imbalance);
  }
  return cost;
}

// Names of the figures; the tables and the JSON file use the same.
constexpr const char* kAgainstPrevious = "error against the stage before / scale";
constexpr const char* kAgainstOracle = "error against the oracle / scale";
constexpr const char* kSeconds = "time";
constexpr const char* kPeak = "peak bytes of a rank";
constexpr const char* kBytes = "bytes sent by a rank";
constexpr const char* kExchanges = "exchanges";
constexpr const char* kImbalance = "imbalance";

// Measured beside theory. A stage on one device sends nothing and has nothing to balance.
std::vector<Figure> cost_figures(const Cost& got, const Cost& theory, bool distributed) {
  std::vector<Figure> figures{{kPeak, got.peak_bytes, theory.peak_bytes, "B"}};
  if (!distributed) return figures;
  figures.push_back({kBytes, got.bytes_sent, theory.bytes_sent, "B"});
  figures.push_back({kExchanges, got.exchanges, theory.exchanges, ""});
  figures.push_back({kImbalance, got.imbalance, theory.imbalance, ""});
  return figures;
}

// The stage to compare with: the predecessor, or where that is left out, the predecessor's.
std::string climbed_predecessor(const Stage& stage, const std::map<std::string, Answer>& answers) {
  std::string name = stage.predecessor;
  while (!name.empty() && !answers.contains(name)) name = verify::stage_named(name).predecessor;
  return name;
}

}  // namespace

verify::Report climb_ladder(const std::string& title, const Problem& problem, const verify::Inputs& inputs,
                            std::optional<Layout> only) {
  std::vector<const Stage*> stages;
  for (const Stage& stage : verify::ladder())
    if (!only || !stage.layout || stage.layout == Layout::kContiguous || stage.layout == only)
      stages.push_back(&stage);

  constexpr double kOracle = 3;  // the oracle takes about as long as so many stages
  Progress progress(static_cast<double>(stages.size()) + kOracle);
  progress.at(0, "oracle");
  Oracle oracle =
      verify::oracle(problem, inputs, static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));

  verify::Report report{title, {}};
  std::map<std::string, Answer> answers;
  for (const Stage* stage : stages) {
    progress.at(static_cast<double>(report.rows.size()) + kOracle, stage->name);
    verify::StageResult result = verify::climb(*stage, problem, inputs);
    const std::string previous = climbed_predecessor(*stage, answers);
    const Answer* dense = answers.empty() ? nullptr : &answers.at(stages.front()->name);
    const Comparison verdict = judged(result.answer, dense, oracle, stage->expect);

    verify::ReportRow& row = report.rows.emplace_back();
    row.id = std::to_string(stage->lesson) + " " + stage->name;
    row.claim = previous.empty() ? "where the road begins" : "equals " + previous;
    row.status = verdict.good ? verify::Status::kPassed : verify::Status::kFailed;
    row.sentence = verify::described(verdict, verify::problem_of(*stage, problem).sharding());
    if (!previous.empty())
      row.figures.push_back({kAgainstPrevious,
                             largest_error(result.answer, answers.at(previous), oracle, stage->expect),
                             {},
                             ""});
    row.figures.push_back({kAgainstOracle, verdict.worst, {}, ""});
    row.figures.push_back({kSeconds, result.measurement.seconds(), {}, "s"});
    const bool backward = stage->expect == verify::Expect::kAll && inputs.has_backward();
    const Cost theory = predicted(*stage, problem, inputs.q.dtype(), backward);
    for (const Figure& figure : cost_figures(measured(result.measurement), theory, stage->layout.has_value()))
      row.figures.push_back(figure);
    answers.emplace(stage->name, std::move(result.answer));
  }
  return report;
}

// ---- tables

namespace {

const Figure* figure_named(const verify::ReportRow& row, std::string_view name) {
  for (const Figure& figure : row.figures)
    if (figure.name == name) return &figure;
  return nullptr;
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e6) return fmt::format("{:.2f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.2f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

// "12.58 MB  =" where theory says the same, else both numbers.
std::string beside_theory(const verify::ReportRow& row, std::string_view name, std::string (*text)(double)) {
  const Figure* figure = figure_named(row, name);
  if (figure == nullptr) return "-";
  if (!figure->theory) return text(figure->value) + "   ";
  const bool same = std::abs(figure->value - *figure->theory) <= 1e-12 * std::abs(*figure->theory);
  return text(figure->value) + (same ? "  =" : " (" + text(*figure->theory) + ")");
}

std::string error_text(const verify::ReportRow& row, std::string_view name) {
  const Figure* figure = figure_named(row, name);
  return figure == nullptr ? "-" : fmt::format("{:.1e}", figure->value);
}

}  // namespace

std::string ladder_tables(const verify::Report& report) {
  std::string text = fmt::format("{:<28} {:<31} {:>9} {:>9} {:>8}  {}\n", "stage", "checked against", "error",
                                 "oracle", "time", "verdict");
  for (const auto& row : report.rows) {
    const Figure* seconds = figure_named(row, kSeconds);
    text += fmt::format("{:<28} {:<31} {:>9} {:>9} {:>7.2f}s  {}\n", row.id, row.claim,
                        error_text(row, kAgainstPrevious), error_text(row, kAgainstOracle), seconds->value,
                        row.status == verify::Status::kPassed ? "right" : "WRONG");
  }
  text += fmt::format("\n{:<28} {:>22} {:>22} {:>10} {:>13}\n", "stage", "peak of a rank", "sent by a rank",
                      "exchanges", "imbalance");
  for (const auto& row : report.rows)
    text += fmt::format(
        "{:<28} {:>22} {:>22} {:>10} {:>13}\n", row.id, beside_theory(row, kPeak, bytes_text),
        beside_theory(row, kBytes, bytes_text),
        beside_theory(row, kExchanges, [](double x) { return fmt::format("{:.0f}", x); }),
        beside_theory(row, kImbalance, [](double x) { return fmt::format("{:.2f} %", 100 * x); }));
  text +=
      "\nError: largest difference of any element of any tensor, in units of the element's scale (float32 "
      "rounds at 6e-08,\n"
      "float64 at 1e-16). Costs are forward and backward together; \"=\" means: exactly what theory says.\n";
  for (const auto& row : report.rows)
    if (row.status == verify::Status::kFailed) text += fmt::format("\n{}: {}\n", row.id, row.sentence);
  text += fmt::format("\n{} of {} stages right\n", report.count(verify::Status::kPassed), report.rows.size());
  return text;
}

}  // namespace ringcraft::tool
