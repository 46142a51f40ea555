// run: climbs the ladder, stage by stage, on one shared problem, and shows each stage's errors and costs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/attention/kernel_ladder.hpp"
#include "tool/attention/ladder_report.hpp"
#include "tool/attention/own_files.hpp"
#include "tool/commands/commands.hpp"
#include "tool/commands/options.hpp"
#include "tool/ranks/text_problem.hpp"
#include "tool/terminal/output.hpp"
#include "verify/oracle/tensor_files.hpp"

namespace ringcraft::tool {
namespace {

struct RunOptions {
  std::string input, text, backend = "threads", json;
  Position tokens = 4096;
  bool mine = false;
  MaskOptions mask;
  DealOptions deal{.layout = ""};
};

// The layout that --layout asks for; without it the ladder climbs through all of them.
std::optional<Layout> asked_layout(const RunOptions& options) {
  return options.deal.layout.empty() ? std::nullopt : std::optional(layout_named(options.deal.layout));
}

// The shared problem and its inputs: the user's tensors, the user's text, or the lessons' own text.
struct Shared {
  std::string title;
  Problem problem;
  verify::Inputs inputs;
};

DealOptions deal_of(const RunOptions& options) {
  DealOptions deal = options.deal;
  if (deal.layout.empty()) deal.layout = name_of(Layout::kZigzag);  // the layout of the last stages
  return deal;
}

Shared from_file(const RunOptions& options) {
  return with_inputs_of(options.input, [&]() -> Shared {
    verify::Inputs inputs = verify::read_inputs(options.input, {}).inputs;
    const Problem problem =
        problem_of(inputs.q, inputs.k, inputs.v, inputs.dout, options.mask, deal_of(options));
    return {options.input, problem, std::move(inputs)};
  });
}

Shared from_text(const RunOptions& options) {
  const Shape shape{.batch = 1, .heads = 8, .kv_heads = 2, .seqlen = options.tokens, .head_dim = 64};
  MaskOptions mask = options.mask;
  mask.causal = true;  // text is read from left to right
  const Problem problem = mask.problem(shape, deal_of(options));
  const std::filesystem::path path = options.text.empty()
                                         ? std::filesystem::path(RINGCRAFT_SOURCE_DIR) / "lessons"
                                         : std::filesystem::path(options.text);
  return {options.text.empty() ? "the text of the lessons" : options.text, problem,
          text_inputs(read_text(path), shape)};
}

void check_flags(const RunOptions& options) {
  if (options.backend == "mpi" || options.backend == "nccl")
    throw Error("run --backend", "threads, cuda or cuda-host", options.backend,
                "attend serves the other backends");
  if (!options.input.empty() && !options.text.empty())
    throw Error("run", "--input or --text", "both", "leave one of them out");
}

int run(const RunOptions& options) {
  check_flags(options);
  const Backend backend = backend_named(options.backend);
  for (const std::string& read : {options.input, options.text})
    if (!read.empty()) require_other_file("--json", options.json, read);
  require_writable("--json", options.json);
  const Shared shared = options.input.empty() ? from_text(options) : from_file(options);
  KernelPlace place = kernel_place(backend, shared.problem.layout);
  const Shape& s = shared.problem.shape;
  std::printf("%s: %s, %s, %s on %s, head_dim %lld, %s, %s\n\n", shared.title.c_str(),
              counted(s.seqlen, "token").c_str(), described(shared.problem.mask).c_str(),
              counted(s.heads, "head").c_str(), counted(s.kv_heads, "KV head").c_str(),
              static_cast<long long>(s.head_dim), std::string(name_of(shared.inputs.q.dtype())).c_str(),
              counted(shared.problem.world_size, "rank").c_str());
  std::fflush(stdout);
  const std::optional<Layout> only = asked_layout(options);
  verify::Report report;
  if (options.mine) {
    report = climb_with_own_files(shared.title, shared.problem, shared.inputs, only, std::move(place));
  } else {
    report = climb_ladder(shared.title, shared.problem, shared.inputs, only);
    add_kernel_stages(report, std::move(place), shared.problem, shared.inputs);
  }
  std::fputs(ladder_tables(report).c_str(), stdout);
  if (!options.json.empty()) write_json(options.json, report);
  return report.good() ? 0 : static_cast<int>(Code::kWrongAnswer);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "run", "Climb the ladder: every stage from dense attention to rings, Ulysses and hybrids");
  auto options = std::make_shared<RunOptions>();
  CLI::Option* input =
      command->add_option("--input", options->input, "q, k, v (and dout) of your own, safetensors");
  input->type_name("F");
  command->add_option("--text", options->text, "A text, or a folder of README.md files; default: the lessons")
      ->type_name("F");
  command->add_option("--tokens", options->tokens, "Bytes of the text")
      ->capture_default_str()
      ->type_name("S")
      ->excludes(input);
  options->deal.add_to(*command);
  options->mask.add_to(*command);
  command
      ->add_option("--backend", options->backend,
                   "Where the kernels run: cuda, cuda-host (the CPU); threads: on a GPU if there is one")
      ->capture_default_str()
      ->type_name("B");
  command->add_flag("--mine", options->mine, "Your started exercises instead of the library's own files");
  command->add_option("--json", options->json, "Also write the results for programs")->type_name("F");
  command->footer(
      "A text is always attended to causally.\nExample: ./ringcraft run --ranks 7 --text README.md --tokens "
      "1000");
  command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace ringcraft::tool
