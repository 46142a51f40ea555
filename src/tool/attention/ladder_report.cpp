// Climbs the ladder and prints its tables.
#include "tool/attention/ladder_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "ringcraft/core/shown.hpp"
#include "tool/terminal/output.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/oracle/rounding_rule.hpp"

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

// ---- costs

struct Cost {
  double peak_bytes = 0, bytes_sent = 0, messages = 0, imbalance = 0;
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
    cost.messages += static_cast<double>(messages);
    cost.imbalance = std::max(cost.imbalance, pass->imbalance());
  }
  return cost;
}

// Of a stage that computes with elements of this type; sums and gradients are at least float32.
Cost predicted(const Stage& stage, const Problem& shared, DType type, bool backward) {
  const RoleBytes bytes{size_of(type), std::max(size_of(type), size_of(DType::kFloat32))};
  if (stage.peak_bytes != nullptr)
    return {.peak_bytes = static_cast<double>(stage.peak_bytes(shared.shape, backward, bytes))};
  const Problem problem = verify::problem_of(stage, shared);
  const Method* const method = stage.over_ranks->method;
  const MethodOptions options = verify::options_of(stage, problem);
  std::vector<Theory> passes{method->theory(problem, options, Pass::kForward, bytes)};
  if (backward) passes.push_back(method->theory(problem, options, Pass::kBackward, bytes));
  Cost cost;
  for (const Theory& pass : passes) {
    cost.peak_bytes = std::max(cost.peak_bytes, static_cast<double>(largest(pass.peak_bytes)));
    cost.bytes_sent += static_cast<double>(largest(pass.bytes_sent));
    cost.messages += static_cast<double>(largest(pass.messages_sent));
    cost.imbalance = std::max(cost.imbalance, pass.imbalance());
  }
  return cost;
}

// Names of the figures; the tables and the JSON file use the same.
constexpr const char* kAgainstPrevious = "error against the stage before / scale";
constexpr const char* kAgainstOracle = "error against the oracle / scale";
constexpr const char* kSeconds = "time";
constexpr const char* kPeakBytes = "peak bytes of a rank";
constexpr const char* kBytes = "bytes sent by a rank";
constexpr const char* kMessages = "messages sent by a rank";
constexpr const char* kImbalance = "imbalance";

// Measured beside theory. A stage on one device sends nothing and has nothing to balance.
std::vector<Figure> cost_figures(const Cost& got, const Cost& theory, bool distributed) {
  std::vector<Figure> figures{{kPeakBytes, got.peak_bytes, theory.peak_bytes, "B"}};
  if (!distributed) return figures;
  figures.push_back({kBytes, got.bytes_sent, theory.bytes_sent, "B"});
  figures.push_back({kMessages, got.messages, theory.messages, ""});
  figures.push_back({kImbalance, got.imbalance, theory.imbalance, ""});
  return figures;
}

// ---- the climb

// Runs the stages one after another, a row for each.
class Climb {
 public:
  Climb(verify::Report& report, const Problem& problem, const verify::Inputs& inputs, const Climber& climber)
      : report_(report), inputs_(inputs), climber_(climber), shared_{.problem = problem}, ground_(&shared_) {
    const auto start = std::chrono::steady_clock::now();
    shared_.oracle = oracle_in(inputs.q.dtype(), inputs.q.dtype());
    oracle_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void stage(const Stage& stage) {
    verify::ReportRow& row = report_.rows.emplace_back();
    row.id = std::to_string(stage.lesson) + " " + stage.name;
    if (climber_.yours) row.yours = climber_.yours(stage);
    const std::string previous = climbed_predecessor(stage);
    const bool broken = !previous.empty() && failed_.contains(previous);
    row.claim = previous.empty() ? "reference stage"
                : broken         ? "equals the oracle (" + previous + " failed)"
                                 : "equals " + previous;
    row.sentence = reason_to_skip(row.yours);
    if (const std::string refused = verify::refusal(stage, shared_.problem);
        row.sentence.empty() && !refused.empty())
      row.sentence = "not tried: " + refused;
    if (stage.mask != nullptr) row.claim += ", " + described(stage.mask(shared_.problem));
    if (row.sentence.empty()) {
      if (stage.mask != nullptr) change_ground(stage.mask(shared_.problem), broken ? "" : previous);
      run(stage, row, broken ? "" : previous);
      ground_ = &shared_;
    }
    if (row.status == verify::Status::kFailed) row.sentence += earlier_fault(row.yours);
    if (row.status != verify::Status::kPassed) failed_.insert(stage.name);
    for (const int lesson : row.yours)
      if (row.status == verify::Status::kPassed)
        cleared_.insert(lesson);
      else if (row.status == verify::Status::kFailed && !cleared_.contains(lesson))
        faults_.try_emplace(lesson, stage.name);
    climbed_.insert(stage.name);
  }

 private:
  // A problem, its oracle, and the answers of the stages that are right.
  struct Ground {
    Problem problem;
    Oracle oracle = {};
    std::map<std::pair<DType, DType>, Oracle> narrow = {};  // in other types than the inputs', and of results
    std::map<std::string, Answer> answers = {};
  };

  // The next stage has a mask of its own: the library climbs its predecessor under it.
  void change_ground(Mask mask, const std::string& previous) {
    own_ = {.problem = shared_.problem};
    own_.problem.mask = std::move(mask);
    ground_ = &own_;
    own_.oracle = oracle_in(inputs_.q.dtype(), inputs_.q.dtype());
    if (!previous.empty())
      own_.answers.emplace(previous,
                           verify::climb(verify::stage_named(previous), own_.problem, inputs_).answer);
  }

  // The stage to compare with: the predecessor, or where that is left out, the predecessor's.
  std::string climbed_predecessor(const Stage& stage) const {
    std::string name = stage.predecessor;
    while (!name.empty() && !climbed_.contains(name)) name = verify::stage_named(name).predecessor;
    return name;
  }

  // A stage that runs all files of a stage that hung would hang, too.
  std::string reason_to_skip(const std::vector<int>& yours) const {
    for (const auto& [name, lessons] : silent_)
      if (std::ranges::includes(yours, lessons))
        return "not tried: it runs your " + listed(lessons) + ", and so did " + name +
               ", which never came back";
    return {};
  }

  // The student's file of a failed stage that was already in an earlier failed stage.
  std::string earlier_fault(const std::vector<int>& yours) const {
    for (const int lesson : yours)
      if (const auto fault = faults_.find(lesson); fault != faults_.end())
        return fmt::format("\nIt runs your {}, as {} did, which failed: begin there.", lesson, fault->second);
    return {};
  }

  Climbed climb(const Stage& stage, const std::vector<int>& yours, const Problem& problem,
                const verify::Inputs& inputs) const {
    if (yours.empty()) return {verify::climb(stage, problem, inputs), ""};
    return climber_.climb(stage, problem, inputs, oracle_seconds_);
  }

  void run(const Stage& stage, verify::ReportRow& row, const std::string& previous) {
    row.status = verify::Status::kFailed;
    Climbed climbed = climb(stage, row.yours, ground_->problem, inputs_);
    row.sentence = climbed.obstacle;
    if (climbed.silent) silent_.emplace(stage.name, row.yours);
    if (climbed.obstacle.empty()) judge(stage, row, previous, climbed.result);
  }

  void judge(const Stage& stage, verify::ReportRow& row, const std::string& previous,
             verify::StageResult& result) {
    const DType type = stage.dtype.value_or(inputs_.q.dtype());
    const Comparison verdict = judged(result.answer, type, stage.expect);
    row.sentence = verify::described(verdict, verify::problem_of(stage, ground_->problem).sharding());
    row.status = verdict.good ? verify::Status::kPassed : verify::Status::kFailed;
    if (!verdict.complaint.empty()) return;
    if (!previous.empty())
      row.figures.push_back(
          {kAgainstPrevious,
           largest_error(result.answer, ground_->answers.at(previous), ground_->oracle, stage.expect),
           {},
           ""});
    row.figures.push_back({kAgainstOracle,
                           largest_error(result.answer, ground_->oracle.value, ground_->oracle, stage.expect),
                           {},
                           ""});
    row.figures.push_back({kSeconds, result.measurement.seconds(), {}, "s"});
    const bool backward = stage.expect == verify::Expect::kAll && inputs_.has_backward();
    const Cost theory = predicted(stage, ground_->problem, type, backward);
    for (const Figure& figure :
         cost_figures(measured(result.measurement), theory, stage.over_ranks.has_value()))
      row.figures.push_back(figure);
    if (verdict.good) ground_->answers.emplace(stage.name, std::move(result.answer));
  }

  // With standard deviations, unless they are float64's. Tensor cores take a half type; a stage may write its
  // results in it, too.
  Oracle oracle_in(DType type, DType results) const {
    verify::OracleOptions options{.threads =
                                      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};
    if (type != DType::kFloat64) options.rounding = verify::tensor_core_rounding(type, results);
    return verify::oracle(ground_->problem, inputs_, options);
  }

  // float64 is exact; any other type rounds, and its stages may round other steps than the problem's own.
  Comparison judged(const Answer& got, DType type, verify::Expect expect) {
    if (type == DType::kFloat64) return verify::compare_exact(got, ground_->oracle, expect);
    const DType results = got.out.dtype();
    const bool own = type == inputs_.q.dtype();
    if (!own && !ground_->narrow.contains({type, results}))
      ground_->narrow.emplace(std::pair{type, results}, oracle_in(type, results));
    return verify::RoundingRule(verify::tensor_core_rounding(type, results))
        .add(got, own ? ground_->oracle : ground_->narrow.at({type, results}), expect);
  }

  verify::Report& report_;
  const verify::Inputs& inputs_;
  const Climber& climber_;
  Ground shared_, own_ = {};  // the problem of all stages, and that of a stage with its own mask
  Ground* ground_;            // one of the two
  double oracle_seconds_ = 0;
  std::set<std::string> climbed_, failed_;
  std::set<int> cleared_;                           // lessons of the student's in a stage that passed
  std::map<int, std::string> faults_;               // others, and the first stage that failed with them
  std::map<std::string, std::vector<int>> silent_;  // stages that hung, and the lessons that they ran
};

}  // namespace

verify::Report climb_ladder(const std::string& title, const Problem& problem, const verify::Inputs& inputs,
                            std::optional<Layout> only, const Climber& climber) {
  std::vector<Stage> stages;
  for (const Stage& stage : verify::ladder())
    if (!only || !stage.over_ranks || stage.over_ranks->layout == Layout::kContiguous ||
        stage.over_ranks->layout == only)
      stages.push_back(stage);
  return climb_stages(title, stages, problem, inputs, climber);
}

verify::Report climb_stages(const std::string& title, std::span<const Stage> stages, const Problem& problem,
                            const verify::Inputs& inputs, const Climber& climber) {
  constexpr double kOracle = 3;  // the oracle takes about as long as this many stages
  Progress progress(static_cast<double>(stages.size()) + kOracle);
  progress.at(0, "oracle");
  verify::Report report{title, {}};
  Climb climb(report, problem, inputs, climber);
  for (const Stage& stage : stages) {
    progress.at(static_cast<double>(report.rows.size()) + kOracle, stage.name);
    climb.stage(stage);
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

std::string seconds_text(const verify::ReportRow& row) {
  const Figure* seconds = figure_named(row, kSeconds);
  return seconds == nullptr ? "-" : fmt::format("{:.2f}s", seconds->value);
}

// A row without weight describes a file, not a stage.
bool is_stage(const verify::ReportRow& row) { return row.weight > 0; }

// "right      104, 303": the lessons whose files are the student's follow the verdict.
std::string verdict_text(const verify::ReportRow& row, bool mine) {
  const std::string verdict = row.status == verify::Status::kPassed   ? "right"
                              : row.status == verify::Status::kFailed ? "WRONG"
                                                                      : "not tried";
  return mine ? fmt::format("{:<9}  {}", verdict, row.yours.empty() ? "-" : listed(row.yours)) : verdict;
}

// The faults found, each sentence once, after the names of all stages that have it.
std::vector<std::pair<std::string, std::string>> complaints(const verify::Report& report) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& row : report.rows) {
    if (row.status == verify::Status::kPassed) continue;
    const auto same = std::ranges::find(result, row.sentence, [](const auto& entry) { return entry.second; });
    if (same == result.end())
      result.emplace_back(row.id, row.sentence);
    else
      same->first += "; " + row.id;
  }
  return result;
}

}  // namespace

std::string ladder_tables(const verify::Report& report) {
  std::size_t claims = 31;
  bool mine = false;
  for (const auto& row : report.rows) {
    claims = std::max(claims, row.claim.size());
    mine = mine || !row.yours.empty();
  }
  std::string text = fmt::format("{:<28} {:<{}} {:>9} {:>9} {:>8}  {}\n", "stage", "checked against", claims,
                                 "error", "oracle", "time", mine ? "verdict    yours" : "verdict");
  for (const auto& row : report.rows)
    text += fmt::format("{:<28} {:<{}} {:>9} {:>9} {:>8}  {}\n", row.id, row.claim, claims,
                        error_text(row, kAgainstPrevious), error_text(row, kAgainstOracle), seconds_text(row),
                        verdict_text(row, mine));
  text += fmt::format("\n{:<28} {:>22} {:>22} {:>10} {:>13}\n", "stage", "peak of a rank", "sent by a rank",
                      "messages", "imbalance");
  for (const auto& row : report.rows | std::views::filter(is_stage))
    text += fmt::format(
        "{:<28} {:>22} {:>22} {:>10} {:>13}\n", row.id, beside_theory(row, kPeakBytes, bytes_text),
        beside_theory(row, kBytes, bytes_text),
        beside_theory(row, kMessages, [](double x) { return fmt::format("{:.0f}", x); }),
        beside_theory(row, kImbalance, [](double x) { return fmt::format("{:.2f} %", 100 * x); }));
  text +=
      "\nError: largest difference of any element of any tensor from the stage before, and from the oracle, "
      "in units of the\nelement's scale (bfloat16 rounds at 4e-03, float32 at 6e-08, float64 at 1e-16). "
      "Costs are forward and backward together;\n\"=\" means: exactly what theory says.\n";
  const auto is_of_few = [](const Figure& figure) { return figure.name == kFirstTokens; };
  if (std::ranges::any_of(report.rows,
                          [&](const auto& row) { return std::ranges::any_of(row.figures, is_of_few); }))
    text +=
        "Kernels run on the CPU here, on the first tokens alone: their times and bytes are for themselves.\n";
  for (const auto& [stages, sentence] : complaints(report))
    text += fmt::format("\n{}: {}\n", stages, sentence);
  if (mine)
    text +=
        "\nA stage tries your files on this one problem: right here is less than what ./ringcraft check "
        "asks.\n";
  text += fmt::format("\n{} of {} stages right\n", report.count(verify::Status::kPassed),
                      std::ranges::count_if(report.rows, is_stage));
  return text;
}

}  // namespace ringcraft::tool
