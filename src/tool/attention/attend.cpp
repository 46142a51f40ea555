// attend: anyone's tensors in, exact ring attention out.
#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/hash.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/parallel/run.hpp"
#include "tool/attention/long_run.hpp"
#include "tool/commands/commands.hpp"
#include "tool/commands/options.hpp"
#include "tool/ranks/ranks.hpp"
#include "tool/terminal/counted_progress.hpp"
#include "tool/terminal/output.hpp"
#include "tool/trace/record.hpp"
#include "verify/ladder/whole.hpp"
#include "verify/oracle/tensor_files.hpp"

namespace ringcraft::tool {
namespace {

struct AttendOptions {
  std::string input, output, backend = "threads", dtype, trace;
  MethodFlags how;
  double patience = 60;
  MaskOptions mask;
  DealOptions deal;
};

// The values of the flags, checked before any file is read.
struct Plan {
  const Method& method;
  MethodOptions options;
  Backend backend;
  std::optional<DType> dtype;
};

Plan plan_of(const AttendOptions& options) {
  layout_named(options.deal.layout);
  return {options.how.named(), options.how.typed(), backend_named(options.backend),
          options.dtype.empty() ? std::nullopt : std::optional(dtype_named(options.dtype))};
}

// Writes the trace, and tells what of it is proved; false if its schedule is wrong.
bool report_trace(const std::string& path, const verify::TracedRun& run) {
  const verify::ScheduleProof proof = write_trace(path, run);
  std::printf(
      "%s, %s: what every rank did when; ./ringcraft trace %s draws it, and so does "
      "https://ui.perfetto.dev\n",
      path.c_str(), bytes_text(static_cast<double>(std::filesystem::file_size(path))).c_str(), path.c_str());
  if (!proof.good()) std::fputs(verdict_text(proof, run.goal()).c_str(), stdout);
  return proof.good();
}

// Scores beyond the range of the number type leave no attention to write. A row without a key has lse = -inf.
void require_finite_result(const verify::Answer& answer) {
  const auto check = [&]<class T>(std::string_view name, std::span<const T> numbers) {
    for (const T x : numbers)
      if (!std::isfinite(x) && !(name == "lse" && x == -std::numeric_limits<T>::infinity()))
        throw Error(std::string(name), "finite numbers", std::isnan(x) ? "NaN" : "infinity",
                    "the scores leave the range of " + std::string(name_of(dtype_of<T>())) +
                        "; take a smaller --softmax-scale, or --dtype float64; nothing is written",
                    Code::kWrongAnswer);
  };
  for (const auto& [name, tensor] : verify::named(answer)) {
    if (tensor.dtype() == DType::kFloat32) check(name, tensor.values<float>());
    if (tensor.dtype() == DType::kFloat64) check(name, tensor.values<double>());
  }
}

// The statements that all ranks of a job must have alike.
std::vector<Statement> statements_of(const AttendOptions& options, const verify::Inputs& inputs,
                                     const Problem& problem) {
  const Shape& s = problem.shape;
  std::vector<Statement> statements{
      {"the shape", listed(std::array{s.batch, s.heads, s.kv_heads, s.seqlen, s.head_dim})},
      {"the mask", described(problem.mask)},
      {"--cu-seqlens", listed(problem.mask.cu_seqlens)},
      {"--layout", described(problem.sharding())},
      {"--softmax-scale", std::to_string(problem.softmax_scale)},
      {"--method", options.how.method},
      {"--schedule", options.how.schedule},
      {"--ulysses", std::to_string(options.how.options.ulysses)},
      {"--gather-heads", std::to_string(options.how.options.gather_heads)},
      {"--node", std::to_string(options.how.options.node)},
      {"the number type", std::string(name_of(inputs.q.dtype()))},
      {"--trace", options.trace}};
  for (const auto& [name, tensor] : verify::named(inputs))
    statements.push_back({std::string(name) + " of " + options.input,
                          std::to_string(fnv1a<std::uint64_t>(
                              {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()})),
                          false});
  return statements;
}

int attend(const AttendOptions& options) {
  const Plan plan = plan_of(options);
  if (std::isnan(options.patience))  // which is outside of no range
    throw Error("--patience", "seconds from 0 to 1000000", "NaN", "leave it out for 60");
  for (const auto& [flag, name] : {std::pair{"--input", &options.input}, {"--output", &options.output}})
    if (name->empty())
      throw Error(flag, "the name of a file", "an empty one", "see ./ringcraft attend --help");
  require_other_file("--output", options.output, options.input);
  require_other_file("--trace", options.trace, options.input);
  if (is_same_file(options.trace, options.output))
    throw Error("--trace", "another file than the output", options.trace, "choose two names");
  const JobSize job{std::max(1, options.deal.checked_ranks()),
                    std::chrono::milliseconds(static_cast<std::int64_t>(options.patience * 1000)),
                    {options.output, options.trace}};
  return with_ranks(plan.backend, job, [&](Ranks& ranks) {
    const verify::StoredInputs stored =
        with_inputs_of(options.input, [&] { return verify::read_inputs(options.input, plan.dtype); });
    const verify::Inputs& inputs = stored.inputs;
    const Problem problem = with_inputs_of(options.input, [&] {
      verify::require_finite(inputs);
      return problem_of(inputs.q, inputs.k, inputs.v, inputs.dout, options.mask, options.deal);
    });
    ranks.require_agreement([&] { return statements_of(options, inputs, problem); });
    verify::Answer answer;
    const WholeInputs whole = verify::whole(inputs);
    std::optional<Trace> trace;
    refuse(plan.method, problem, plan.options);
    if (!options.trace.empty()) {
      require_recordable("--trace", plan.method, problem, plan.options);
      if (ranks.speaks()) require_writable("--trace", options.trace);
      trace.emplace(problem.world_size);
    }
    std::optional<CountedProgress> progress;
    if (ranks.speaks()) {
      warn_of_exchanges(plan.method, problem, plan.options);
      if (trace) {
        const std::string warning = warning_of_trace(plan.method, problem, plan.options, whole.last_pass());
        if (!warning.empty()) std::fprintf(stderr, "ringcraft: %s\n", warning.c_str());
      }
      progress.emplace("attention");
    }
    const std::vector<Index> work =
        progress ? work_of(plan.method, problem, plan.options, whole.last_pass()) : std::vector<Index>{};
    ranks.run(problem.world_size, inputs.q.dtype(), trace ? &*trace : nullptr, [&](RankPlace& place) {
      if (progress) {
        progress->expect(work[static_cast<std::size_t>(place.comm().rank())]);
        place.engine().count_in(&progress->done());
      }
      WholeResult result = run_method(plan.method, place, problem, plan.options, whole);
      if (place.comm().rank() == 0) answer = verify::answer_of(std::move(result));
    });
    progress.reset();
    const double clock_error =
        trace ? ranks.gather(problem, verify::dealing_degree(plan.method, problem, plan.options), *trace) : 0;
    bool proved = true;
    if (ranks.speaks()) {
      require_finite_result(answer);
      verify::write_answer(options.output, answer, stored.storage);
      const std::string method = plan.method.name == kRing.name ? "" : std::string(plan.method.name) + " on ";
      std::printf("%s: %s%s of %s, %s, %s%s, %s\n", options.output.c_str(), "out, lse",
                  inputs.dout.empty() ? "" : ", dq, dk, dv", counted(problem.shape.seqlen, "token").c_str(),
                  described(problem.mask).c_str(), method.c_str(),
                  counted(problem.world_size, "rank").c_str(), described(problem.sharding()).c_str());
      if (trace)
        proved = report_trace(options.trace, {.problem = problem,
                                              .last = whole.last_pass(),
                                              .backend = options.backend,
                                              .clock_error = clock_error,
                                              .trace = std::move(*trace),
                                              .method = &plan.method,
                                              .options = plan.options});
    }
    return proved ? 0 : static_cast<int>(Code::kWrongAnswer);
  });
}

}  // namespace

void add_attend(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("attend", "Exact attention over ranks, of the tensors of a safetensors file");
  auto options = std::make_shared<AttendOptions>();
  command
      ->add_option("--input", options->input,
                   "q, k, v and, for gradients, dout: [batch, heads, seqlen, head_dim]")
      ->required()
      ->type_name("F");
  command
      ->add_option("--output", options->output, "Gets out and lse, and dq, dk, dv where the input has dout")
      ->required()
      ->type_name("G");
  options->deal.add_to(*command);
  options->mask.add_to(*command);
  options->how.add_to(*command);
  command
      ->add_option("--backend", options->backend,
                   "threads; mpi: a process for each rank, also under mpirun or srun; cuda: N virtual ranks "
                   "on one GPU; cuda-host: the same on "
                   "the CPU; nccl under mpirun -n N: a GPU for each rank")
      ->capture_default_str()
      ->type_name("B");
  command
      ->add_option("--patience", options->patience,
                   "mpi: seconds that a rank waits for a message before the job ends and names the ranks "
                   "that do not answer; 0: forever")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("S");
  command
      ->add_option("--dtype", options->dtype,
                   "float32, float64, or bfloat16, float16 (round inputs and outputs, compute in float32); "
                   "default: the "
                   "input's")
      ->type_name("T");
  command
      ->add_option("--trace", options->trace,
                   "Also prove the schedule, and write what every rank did when, for ./ringcraft trace F and "
                   "https://ui.perfetto.dev")
      ->type_name("F");
  command->footer(
      "Example: ./ringcraft attend --input qkv.safetensors --output out.safetensors --ranks 4 --layout "
      "zigzag --causal");
  command->callback([&action, options] { action = [options] { return attend(*options); }; });
}

}  // namespace ringcraft::tool
