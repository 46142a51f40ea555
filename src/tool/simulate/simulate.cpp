// simulate: a method on a machine that is not there, with thousands of ranks.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "ringcraft/comm/fibers/fibers.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/problem/reach.hpp"
#include "tool/attention/long_run.hpp"
#include "tool/commands/commands.hpp"
#include "tool/commands/options.hpp"
#include "tool/simulate/machine_file.hpp"
#include "tool/simulate/simulation_report.hpp"
#include "tool/terminal/counted_progress.hpp"
#include "tool/terminal/output.hpp"
#include "tool/terminal/terminal.hpp"
#include "tool/trace/drawing.hpp"
#include "tool/trace/record.hpp"
#include "verify/schedule/chrome_trace.hpp"

namespace ringcraft::tool {
namespace {

struct SimulationOptions {
  std::string machine = "8xH100", pass = "both", trace, svg, json;
  MethodFlags how;
  std::string layout = "zigzag";
  std::vector<int> ranks{8};
  Shape shape{.batch = 1, .heads = 32, .kv_heads = 8, .seqlen = 131072, .head_dim = 128};
  std::vector<std::string> slow_links, slow_ranks;
  MaskOptions mask;
};

// The values of the flags, checked before anything runs.
struct SimulationPlan {
  const Method& method;
  MethodOptions options;
  Machine machine;
  Pass last;
  std::vector<Problem> problems;  // one for each number of ranks
  std::optional<TraceDetail> recorded;

  std::string described() const {
    const Problem& p = problems.front();
    const Shape& s = p.shape;
    return counted(s.seqlen, "token") + (s.batch > 1 ? " x " + std::to_string(s.batch) : "") + ", " +
           ringcraft::described(p.mask) + ", " + ringcraft::described(p.sharding()) + ", " +
           counted(s.heads, "head") + ", " + counted(s.kv_heads, "KV head") + " of " +
           std::to_string(s.head_dim);
  }
};

Pass pass_named(const std::string& name) {
  if (name == "forward") return Pass::kForward;
  if (name == "both") return Pass::kBackward;
  throw Error("--pass", "forward or both", shown(name), "a backward pass needs what the forward pass saved");
}

void require_shape(const Shape& s) {
  const std::pair<const char*, Index> extents[] = {{"--tokens", s.seqlen},
                                                   {"--batch", s.batch},
                                                   {"--heads", s.heads},
                                                   {"--kv-heads", s.kv_heads},
                                                   {"--head-dim", s.head_dim}};
  for (const auto& [flag, extent] : extents)
    if (extent < 1) throw Error(flag, "at least 1", std::to_string(extent), "leave it out for the default");
}

SimulationPlan plan_of(const SimulationOptions& options) {
  require_shape(options.shape);
  SimulationPlan plan{.method = options.how.named(),
                      .options = options.how.typed(),
                      .machine = machine_named(options.machine),
                      .last = pass_named(options.pass),
                      .problems = {},
                      .recorded = {}};
  for (const std::string& slow : options.slow_links) plan.machine.slow_links.push_back(slow_link_of(slow));
  for (const std::string& slow : options.slow_ranks) plan.machine.slow_ranks.push_back(slow_rank_of(slow));
  for (const int ranks : options.ranks) {
    plan.problems.push_back(
        options.mask.problem(options.shape, {.ranks = ranks, .layout = options.layout, .softmax_scale = {}}));
    validate(plan.machine, ranks);
  }
  if ((plan.method.takes & kTakesNode) != 0 && plan.options.node == 0)
    plan.options.node = std::min(plan.machine.ranks_per_node, *std::ranges::min_element(options.ranks));
  for (const Problem& problem : plan.problems) refuse(plan.method, problem, plan.options);
  if (options.trace.empty() && options.svg.empty()) return plan;
  const char* const recording = options.trace.empty() ? "--svg" : "--trace";
  if (plan.problems.size() > 1)
    throw Error(recording, "one number of ranks", counted(plan.problems.size(), "number"),
                "record each of them by itself");
  const Problem& problem = plan.problems.front();
  require_recordable(recording, plan.method, problem, plan.options);
  constexpr Index kMostRuns = 2'000'000;  // take a second to prove
  plan.recorded = copied_runs(plan.method, problem, plan.options, plan.last) <= kMostRuns
                      ? TraceDetail::kCopies
                      : TraceDetail::kPairs;
  return plan;
}

// Draws the timeline and proves its schedule, unless the trace keeps too little for that; false if it is
// wrong.
bool draw(const SimulationOptions& options, const SimulationPlan& plan, const Problem& problem,
          const Trace& trace) {
  const verify::ScheduleGoal goal{.backward = plan.last == Pass::kBackward,
                                  .costs = {},
                                  .degree = verify::dealing_degree(plan.method, problem, plan.options),
                                  .results = true};
  const bool provable = plan.recorded == TraceDetail::kCopies;
  verify::ScheduleProof proof;
  if (provable)
    proof = verify::prove_schedule(trace, problem, goal);
  else
    proof.replay = verify::replay(trace, problem, {}, goal.degree);
  const verify::Timeline timeline = verify::timeline_of(trace, verify::TraceClock::kVirtual);
  constexpr std::size_t kMostRows = 24;
  const Drawing drawing{timeline, verify::typical_ranks(timeline, kMostRows),
                        std::string(plan.method.name) + " on " + shown(plan.machine.name) + ": " +
                            counted(problem.world_size, "rank") + ", " + plan.described()};
  std::fputs(("\n" + lanes_text(drawing, window_size().columns, colour())).c_str(), stdout);
  if (!options.svg.empty()) {
    write_text("--svg", options.svg, svg_text(drawing));
    std::printf("%s: the same as a picture\n", shown(options.svg).c_str());
  }
  if (!options.trace.empty()) {
    write_text("--trace", options.trace,
               "{\"displayTimeUnit\":\"ms\",\"traceEvents\":" +
                   verify::chrome_events(trace, proof.replay, verify::TraceClock::kVirtual) + "}\n");
    std::printf("%s: what every rank did when; https://ui.perfetto.dev draws it\n",
                shown(options.trace).c_str());
  }
  if (!provable)
    std::printf(
        "The schedule is not proved: %s copies too many pieces of so many tokens; it is with fewer tokens, "
        "or "
        "with --layout contiguous.\n",
        std::string(plan.method.name).c_str());
  else
    std::fputs(verdict_text(proof, goal).c_str(), stdout);
  return proof.good();
}

int simulate(const SimulationOptions& options) {
  const SimulationPlan plan = plan_of(options);
  const std::pair<const char*, const std::string*> written[] = {
      {"--trace", &options.trace}, {"--svg", &options.svg}, {"--json", &options.json}};
  for (const auto& [flag, path] : written) {
    if (known_machine(options.machine) == nullptr) require_other_file(flag, *path, options.machine);
    for (const auto& [other_flag, other] : written)
      if (other != path && is_same_file(*path, *other))
        throw Error(flag, std::string("another file than that of ") + other_flag, shown(*path),
                    "choose a name for each");
    require_writable(flag, *path);
  }
  if (!has_fibers())
    std::fputs("ringcraft: this build has no fibers (Boost.Context): every rank is a thread\n", stderr);
  std::vector<PassReport> reports;
  std::optional<Trace> trace;
  auto progress = std::make_unique<CountedProgress>("simulation");
  for (const Problem& problem : plan.problems)
    for (const Index work : work_of(plan.method, problem, plan.options, plan.last)) progress->expect(work);
  for (const Problem& problem : plan.problems) {
    Simulation simulation = ringcraft::simulate(
        plan.method, problem, plan.machine,
        {.method = plan.options, .last = plan.last, .trace = plan.recorded, .done = &progress->done()});
    for (PassReport& report : reports_of(simulation, plan.method, problem, plan.options, plan.machine))
      reports.push_back(std::move(report));
    trace = std::move(simulation.trace);
  }
  progress.reset();
  std::printf("%s on %s: %s\n%s", std::string(plan.method.name).c_str(), shown(plan.machine.name).c_str(),
              plan.described().c_str(), text_of(reports).c_str());
  if (!options.json.empty())
    write_text("--json", options.json, json_of(reports, plan.method, plan.machine, plan.described()));
  const bool proved = !trace || draw(options, plan, plan.problems.front(), *trace);
  const bool as_theory =
      std::ranges::all_of(reports, [](const PassReport& r) { return r.difference.empty(); });
  return proved && as_theory ? 0 : static_cast<int>(Code::kWrongAnswer);
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "simulate", "The same methods on a machine that is not there, with up to thousands of ranks");
  auto options = std::make_shared<SimulationOptions>();
  options->how.add_to(*command);
  command->add_option("--ranks", options->ranks, "Number of ranks, or several: 8,64,1024")
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--tokens", options->shape.seqlen, "Length of the sequence")
      ->capture_default_str()
      ->type_name("S");
  command
      ->add_option("--machine", options->machine,
                   machine_names() + ", or a JSON file (docs/pages/simulation.md)")
      ->capture_default_str()
      ->type_name("F");
  command->add_option("--layout", options->layout, "contiguous, striped, zigzag or zigzag-token")
      ->capture_default_str()
      ->type_name("L");
  options->mask.add_to(*command);
  command->add_option("--batch", options->shape.batch, "Sequences side by side")->capture_default_str();
  command->add_option("--heads", options->shape.heads, "Query heads")->capture_default_str();
  command->add_option("--kv-heads", options->shape.kv_heads, "KV heads, a divisor")->capture_default_str();
  command->add_option("--head-dim", options->shape.head_dim, "Numbers of a token in a head")
      ->capture_default_str();
  command->add_option("--pass", options->pass, "forward, or both")->capture_default_str()->type_name("P");
  command
      ->add_option("--slow-link", options->slow_links,
                   "Two ranks whose link is X times slower (2 without it); may be given several times")
      ->type_name("A-B[:X]");
  command->add_option("--slow-rank", options->slow_ranks, "A rank that computes X times longer")
      ->type_name("R[:X]");
  command
      ->add_option("--trace", options->trace,
                   "Also write what every rank did when, for https://ui.perfetto.dev")
      ->type_name("F");
  command->add_option("--svg", options->svg, "Also draw it")->type_name("G");
  command->add_option("--json", options->json, "Also write the figures for programs")->type_name("F");
  command->footer(
      "Nothing is computed and nothing is sent: blocks and messages cost time, by the machine's speeds. Exit "
      "code "
      "1: bytes, messages, memory or pairs are not those of theory.\n"
      "Example: ./ringcraft simulate --ranks 8,64,1024 --tokens 16777216 --causal\n"
      "         ./ringcraft simulate --ranks 16 --causal --slow-link 7-8:10 --svg t.svg");
  command->callback([&action, options] { action = [options] { return simulate(*options); }; });
}

}  // namespace ringcraft::tool
