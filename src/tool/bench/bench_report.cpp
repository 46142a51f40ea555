// Computes medians and ratios, and writes them as text and JSON.
#include "tool/bench/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "ringcraft/attention/fast/vector.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {
namespace {

const Timing* timing_named(const std::vector<Timing>& timings, const std::string& name) {
  const auto found = std::ranges::find(timings, name, &Timing::name);
  return found == timings.end() ? nullptr : &*found;
}

double processor_rate(const Timing& t, std::size_t round) { return t.flop / t.rounds[round].processor; }
double wall_rate(const Timing& t, std::size_t round) { return t.flop / t.rounds[round].wall; }
double processor_seconds(const Timing& t, std::size_t round) { return t.rounds[round].processor; }

// Collects ratios of contestants that took part.
class Ratios {
 public:
  explicit Ratios(const std::vector<Timing>& timings) : timings_(timings) {}

  // measure(of) / measure(to)
  void add(const std::string& name, const std::string& of, const std::string& to,
           double (*measure)(const Timing&, std::size_t), std::optional<double> at_least = {},
           std::optional<double> at_most = {}) {
    const Timing *a = timing_named(timings_, of), *b = timing_named(timings_, to);
    if (a == nullptr || b == nullptr) return;
    std::vector<double> values;
    for (std::size_t round = 0; round < a->rounds.size(); ++round)
      values.push_back(measure(*a, round) / measure(*b, round));
    all_.push_back({name, spread_of(values), at_least, at_most});
  }
  std::vector<Ratio> take() { return std::move(all_); }

 private:
  const std::vector<Timing>& timings_;
  std::vector<Ratio> all_;
};

std::string first_line_with(const char* path, const std::string& start) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(start)) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back()};
}

bool Ratio::met() const {
  return (!at_least || value.median >= *at_least) && (!at_most || value.median <= *at_most);
}

std::string machine_text() {
  const unsigned cores = std::thread::hardware_concurrency();
  return first_line_with("/proc/cpuinfo", "model name") + ", " + counted(cores, "core");
}

std::string build_text() {
#if defined(__clang__)
  constexpr const char* kCompiler = "Clang " __clang_version__;
#else
  constexpr const char* kCompiler = "GCC " __VERSION__;
#endif
  return fmt::format("{}, {}, registers of {} bytes", kCompiler, RINGCRAFT_LIBRARY_FLAGS, kRegisterBytes);
}

std::vector<Ratio> ratios_of(const std::vector<Timing>& timings, int threads) {
  Ratios ratios(timings);
  for (const Pass pass : {Pass::kForward, Pass::kBackward})
    for (const Index head_dim : kHeadDims) {
      const bool forward = pass == Pass::kForward;
      const auto name = [&](Who who, bool causal = false) { return name_of(who, pass, head_dim, causal); };
      const double of_peak = forward && head_dim == 64 ? 0.75 : 0.80, of_eigen = head_dim == 64 ? 0.75 : 0.85;
      const std::string fast = name(Who::kFast), readable = name(Who::kReadable);
      ratios.add(fast + ": of the peak", fast, kPeak, processor_rate, of_peak);
      ratios.add(readable + ": of Eigen's product", readable, kEigen, processor_rate,
                 forward ? std::optional(of_eigen) : std::nullopt);
      ratios.add(fast + ": over " + (forward ? "105" : "106"), fast, readable, processor_rate);
      ratios.add(fast + ": over PyTorch", fast, name(Who::kTorch), processor_rate, 1.0);
      ratios.add(name(Who::kFast, true) + ": over PyTorch", name(Who::kFast, true), name(Who::kTorch, true),
                 processor_rate, 1.0);
      ratios.add(name(Who::kFast, true) + ": time of full", name(Who::kFast, true), fast, processor_seconds,
                 {}, 0.60);
      for (const bool causal : {false, true}) {
        ratios.add(fmt::format("{}: {} threads over one", name(Who::kFast, causal), threads),
                   name(Who::kThreads, causal), name(Who::kFast, causal), wall_rate,
                   threads == 2 ? std::optional(1.7) : std::nullopt);
        ratios.add(fmt::format("{}: {} threads over PyTorch's", name(Who::kFast, causal), threads),
                   name(Who::kThreads, causal), name(Who::kTorchThreads, causal), wall_rate);
      }
      ratios.add(fast + ": processor time of a ring of 4", name(Who::kRing), fast, processor_seconds, {},
                 1.10);
    }
  return ratios.take();
}

namespace {

// Operations per second, in units of 1e9: of processor time, or of wall time where several threads help each
// other.
Spread rates_of(const Timing& timing, double (*rate)(const Timing&, std::size_t)) {
  std::vector<double> all;
  for (std::size_t round = 0; round < timing.rounds.size(); ++round) all.push_back(rate(timing, round) / 1e9);
  return spread_of(all);
}

std::string text_of(const Spread& rate) {
  return fmt::format("{:.1f} ({:.1f}-{:.1f})", rate.median, rate.least, rate.most);
}

// One row for each pass, head_dim and mask, one column for each contestant.
std::string rates_text(const BenchReport& report) {
  struct Column {
    Who who;
    std::string title;
  };
  std::vector<Column> columns{{Who::kReadable, "105, 106"}, {Who::kFast, "108"}};
  if (report.settings.threads > 1)
    columns.push_back({Who::kThreads, fmt::format("{} threads", report.settings.threads)});
  columns.push_back({Who::kRing, "ring of 4"});
  columns.push_back({Who::kTorch, "PyTorch"});
  if (report.settings.threads > 1)
    columns.push_back({Who::kTorchThreads, fmt::format("PyTorch, {} thr.", report.settings.threads)});
  std::string text = fmt::format("{:<31}", "GFLOP/s");
  for (const Column& column : columns) text += fmt::format(" {:<17}", column.title);
  for (const Pass pass : {Pass::kForward, Pass::kBackward})
    for (const Index head_dim : kHeadDims)
      for (const bool causal : {false, true}) {
        text += fmt::format(
            "\n{:<31}", fmt::format("{}, head_dim {}, {}", pass == Pass::kForward ? "forward" : "backward",
                                    head_dim, causal ? "causal" : "full"));
        for (const Column& column : columns) {
          const Timing* timing = timing_named(report.timings, name_of(column.who, pass, head_dim, causal));
          const bool threads = column.who == Who::kThreads || column.who == Who::kTorchThreads;
          const auto rate = threads ? wall_rate : processor_rate;
          text += fmt::format(" {:<17}", timing == nullptr ? "-" : text_of(rates_of(*timing, rate)));
        }
      }
  return text + "\n";
}

std::string ratios_text(const BenchReport& report) {
  const bool with_goals = report.settings.tokens == kGoalTokens;
  std::string text = fmt::format("{:<64} {:<19} {}\n", "ratio, round by round", "", with_goals ? "goal" : "");
  for (const Ratio& ratio : report.ratios) {
    std::string goal;
    if (ratio.at_least) goal = fmt::format("at least {:.2f}", *ratio.at_least);
    if (ratio.at_most) goal = fmt::format("at most {:.2f}", *ratio.at_most);
    if (!goal.empty()) goal += ratio.met() ? ": met" : ": missed";
    text += fmt::format(
        "{:<64} {:<19} {}\n", ratio.name,
        fmt::format("{:.2f} ({:.2f}-{:.2f})", ratio.value.median, ratio.value.least, ratio.value.most),
        with_goals ? goal : "");
  }
  return text;
}

}  // namespace

std::string text_of(const BenchReport& report) {
  std::string text = fmt::format(
      "machine  {}\nbuild    {}\nPyTorch  {}\n\nfloat32, one batch entry, one head, {} tokens; one thread "
      "unless said otherwise. A median of {} rounds (least-most), in\nwhich all take turns. A multiply-add "
      "is two operations; masked pairs are not counted. On threads PyTorch gets a head for\neach: its "
      "backward pass deals heads to threads.\n\n",
      report.machine, report.build, report.torch, report.settings.tokens, report.settings.rounds);
  for (const char* name : {kPeak, kEigen})
    text += fmt::format("{:<48} {} GFLOP/s\n", name,
                        text_of(rates_of(*timing_named(report.timings, name), processor_rate)));
  return text + "\n" + rates_text(report) + "\n" + ratios_text(report);
}

namespace {

nlohmann::json json_of(const Spread& spread) {
  return {{"least", spread.least}, {"median", spread.median}, {"most", spread.most}};
}

nlohmann::json json_of(const std::optional<double>& number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

nlohmann::json json_of(const Timing& timing) {
  std::vector<double> processor, wall;
  for (const Seconds& seconds : timing.rounds) {
    processor.push_back(seconds.processor);
    wall.push_back(seconds.wall);
  }
  return {{"name", timing.name},
          {"flop", timing.flop},
          {"processor_seconds", json_of(spread_of(processor))},
          {"wall_seconds", json_of(spread_of(wall))}};
}

nlohmann::json json_of(const Ratio& ratio) {
  return {{"name", ratio.name},
          {"value", json_of(ratio.value)},
          {"at_least", json_of(ratio.at_least)},
          {"at_most", json_of(ratio.at_most)},
          {"met", ratio.met()}};
}

}  // namespace

std::string json_of(const BenchReport& report) {
  nlohmann::json timings = nlohmann::json::array(), ratios = nlohmann::json::array();
  for (const Timing& timing : report.timings) timings.push_back(json_of(timing));
  for (const Ratio& ratio : report.ratios) ratios.push_back(json_of(ratio));
  const nlohmann::json all{{"machine", report.machine},
                           {"build", report.build},
                           {"torch", report.torch},
                           {"tokens", report.settings.tokens},
                           {"rounds", report.settings.rounds},
                           {"threads", report.settings.threads},
                           {"timings", timings},
                           {"ratios", ratios}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ringcraft::tool
