// bench: how fast attention is on this machine, beside what limits it and beside others.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "ringcraft/core/error.hpp"
#include "tool/bench_report.hpp"
#include "tool/commands.hpp"
#include "tool/output.hpp"

namespace ringcraft::tool {
namespace {

struct BenchOptions {
  std::string what, json, python = "python3";
  std::optional<Index> tokens;
  std::optional<int> rounds;
  int threads = 2;
  bool quick = false, tune = false;
};

BenchSettings settings_of(const BenchOptions& options) {
  if (!options.what.empty())
    throw Error("bench " + options.what +
                " is not part of this version; bench alone measures this processor");
  if (options.tune)
    throw Error("bench --tune is not part of this version; bench alone measures this processor");
  const BenchSettings settings{.tokens = options.tokens.value_or(options.quick ? 256 : 4096),
                               .rounds = options.rounds.value_or(options.quick ? 3 : 9),
                               .threads = options.threads};
  if (settings.tokens < 4)
    throw Error("bench --tokens", "at least 4, one for each rank of the ring",
                std::to_string(settings.tokens), "4096 tells most");
  if (settings.rounds < 1)
    throw Error("bench --rounds", "at least 1", std::to_string(settings.rounds), "9 tell most");
  constexpr int kMostThreads = 1024;
  if (settings.threads < 1 || settings.threads > kMostThreads)
    throw Error("bench --threads", "1 to " + std::to_string(kMostThreads), std::to_string(settings.threads),
                "1 leaves the comparison out");
  return settings;
}

int bench(const BenchOptions& options) {
  require_writable("--json", options.json);
  BenchReport report{.machine = machine_text(),
                     .build = build_text(),
                     .torch = {},
                     .settings = settings_of(options),
                     .timings = {},
                     .ratios = {}};
  std::unique_ptr<Torch> torch;
  try {
    torch = std::make_unique<Torch>(options.python);
    report.torch = torch->version();
  } catch (const Error& error) {
    report.torch = std::string("left out: ") + error.what();
  }
  const std::vector<Contestant> all = contestants(report.settings, torch.get());
  {
    Progress progress(static_cast<double>(all.size()) * (report.settings.rounds + 1));
    report.timings = run_rounds(all, report.settings.rounds, [&](std::size_t done, const std::string& name) {
      progress.at(static_cast<double>(done), name);
    });
  }
  report.ratios = ratios_of(report.timings, report.settings.threads);
  std::fputs(text_of(report).c_str(), stdout);
  if (!options.json.empty()) write_text("--json", options.json, json_of(report));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Measure the speed of attention on this machine");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("what", options->what, "kernels: not in this version")->type_name("WHAT");
  command->add_flag("--quick", options->quick, "256 tokens and 3 rounds: a trial, not a measurement");
  command->add_option("--tokens", options->tokens, "Length of the sequence; default 4096")->type_name("S");
  command->add_option("--rounds", options->rounds, "How often each run is repeated; default 9")
      ->type_name("R");
  command->add_option("--threads", options->threads, "Threads that are compared with one")
      ->capture_default_str()
      ->type_name("T");
  command->add_option("--python", options->python, "A Python; if it has PyTorch, PyTorch takes part")
      ->capture_default_str()
      ->type_name("F");
  command->add_option("--json", options->json, "Also write the results for programs")->type_name("F");
  command->add_flag("--tune", options->tune, "Not in this version");
  command->footer(
      "Let nothing else run meanwhile. The goals are those of float32 and 4096 tokens.\nExample: ./ringcraft "
      "bench --json bench.json");
  command->callback([&action, options] { action = [options] { return bench(*options); }; });
}

}  // namespace ringcraft::tool
