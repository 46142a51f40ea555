// bench: measures the speed of attention on this machine's processor or GPU, beside its limits and other
// implementations.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "ringcraft/core/error.hpp"
#include "tool/bench/bench_kernels.hpp"
#include "tool/bench/bench_report.hpp"
#include "tool/commands/commands.hpp"
#include "tool/terminal/output.hpp"

namespace ringcraft::tool {
namespace {

struct BenchOptions {
  std::string what, json, python = "python3";
  std::optional<Index> tokens;
  std::optional<int> rounds, threads;
  bool quick = false, tune = false;
};

BenchSettings settings_of(const BenchOptions& options) {
  const BenchSettings settings{.tokens = options.tokens.value_or(options.quick ? 256 : 4096),
                               .rounds = options.rounds.value_or(options.quick ? 3 : 9),
                               .threads = options.threads.value_or(2)};
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

// Flags of the processor's runs do not apply to kernels.
void check_flags(const BenchOptions& options) {
  if (!options.what.empty() && options.what != "kernels")
    throw Error("bench", "kernels, or nothing", options.what, "bench alone measures this processor");
  if (options.what.empty() && options.tune)
    throw Error("bench", "kernels before --tune", "--tune alone", "it is about the tiles of kernels");
  const bool of_processor = options.tokens || options.rounds || options.threads || options.quick;
  if (!options.what.empty() && of_processor)
    throw Error("bench kernels", "--tune, --python or --json", "a flag that is about the processor's runs",
                "leave --quick, --tokens, --rounds and --threads out");
}

int measure_kernels([[maybe_unused]] const BenchOptions& options) {
#ifdef RINGCRAFT_HAS_CUDA
  return bench_kernels({options.python, options.json, options.tune});
#else
  throw Error(
      "bench kernels measures a GPU, and this build has no kernels for one: it takes CUDA 12.4 or newer",
      Code::kMissing);
#endif
}

int bench(const BenchOptions& options) {
  check_flags(options);
  require_writable("--json", options.json);
  if (!options.what.empty()) return measure_kernels(options);
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
  command
      ->add_option("what", options->what,
                   "kernels: those of the GPU, beside PyTorch's; nothing: this processor")
      ->type_name("WHAT");
  command->add_flag("--quick", options->quick, "256 tokens and 3 rounds: a trial, not a measurement");
  command->add_option("--tokens", options->tokens, "Length of the sequence; default 4096")->type_name("S");
  command->add_option("--rounds", options->rounds, "How often each run is repeated; default 9")
      ->type_name("R");
  command->add_option("--threads", options->threads, "Threads that are compared with one; default 2")
      ->type_name("T");
  command->add_option("--python", options->python, "A Python; if it has PyTorch, PyTorch takes part")
      ->capture_default_str()
      ->type_name("F");
  command->add_option("--json", options->json, "Also write the results for programs")->type_name("F");
  command->add_flag("--tune", options->tune,
                    "With kernels: find the fastest tile sizes, and take them from now on");
  command->footer(
      "Let nothing else run meanwhile. The goals are those of float32 and 4096 tokens.\nExample: ./ringcraft "
      "bench --json bench.json");
  command->callback([&action, options] { action = [options] { return bench(*options); }; });
}

}  // namespace ringcraft::tool
