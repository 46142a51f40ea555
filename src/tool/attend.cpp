// attend: anyone's tensors in, exact ring attention out.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/ring.hpp"
#include "tool/commands.hpp"
#include "tool/options.hpp"
#include "tool/ranks.hpp"
#include "tool/tensor_files.hpp"

namespace ringcraft::tool {
namespace {

struct AttendOptions {
  std::string input, output, method = "ring", schedule = "reversed", backend = "threads", dtype, trace;
  int ulysses = 0;
  MaskOptions mask;
  RingOptions ring;
};

// What the flags say, checked before anything is read.
struct Plan {
  Method method;
  Schedule schedule;
  Backend backend;
  std::optional<DType> dtype;
};

Plan plan_of(const AttendOptions& options) {
  if (!options.trace.empty()) throw Error("--trace is not part of this version");
  if (options.ulysses != 0) throw Error("--ulysses is not part of this version; use --method ring");
  layout_named(options.ring.layout);
  return {method_named(options.method), schedule_named(options.schedule), backend_named(options.backend),
          options.dtype.empty() ? std::nullopt : std::optional(dtype_named(options.dtype))};
}

// An answer of this problem's shape, to be filled; without gradients if the input has no dout.
verify::Answer empty_answer(const Problem& problem, DType type, bool gradients) {
  const Shape& s = problem.shape;
  const Extents q{s.batch, s.heads, s.seqlen, s.head_dim}, kv{s.batch, s.kv_heads, s.seqlen, s.head_dim};
  verify::Answer answer{Buffer(q, type), Buffer({s.batch, s.heads, s.seqlen, 1}, type), {}, {}, {}};
  if (gradients) {
    answer.dq = Buffer(q, type);
    answer.dk = Buffer(kv, type);
    answer.dv = Buffer(kv, type);
  }
  return answer;
}

// One rank's share, gathered into the answer on rank 0.
void attend_on(Communicator& comm, const Problem& problem, const Plan& plan, const verify::Inputs& inputs,
               verify::Answer& answer) {
  const Sharding sharding = problem.sharding();
  const int rank = comm.rank();
  const auto engine = make_host_engine(inputs.q.dtype());
  refuse(problem, plan.method, plan.schedule, inputs.dout.empty() ? Pass::kForward : Pass::kBackward, comm,
         *engine);

  const Buffer q = scatter(inputs.q, sharding, rank);
  const KvBlock kv{scatter(inputs.k, sharding, rank), scatter(inputs.v, sharding, rank)};
  const RingOutput forward = ring_forward(comm, *engine, problem, q, kv);
  gather_to_first(comm, answer.out, forward.output.out, sharding);
  gather_to_first(comm, answer.lse, forward.output.lse, sharding);
  if (inputs.dout.empty()) return;

  const bool own_first = plan.schedule == Schedule::kForward || hops(problem) == 0;
  const RingGradients backward =
      ring_backward(comm, *engine, problem, plan.schedule, q, own_first ? kv : forward.last, forward.output,
                    scatter(inputs.dout, sharding, rank));
  gather_to_first(comm, answer.dq, backward.dq, sharding);
  gather_to_first(comm, answer.dk, backward.dkv.k, sharding);
  gather_to_first(comm, answer.dv, backward.dkv.v, sharding);
}

int attend(const AttendOptions& options) {
  const Plan plan = plan_of(options);
  require_other_file("--output", options.output, options.input);
  return with_ranks(plan.backend, [&](Ranks& ranks) {
    const StoredInputs stored = read_inputs(options.input, plan.dtype);
    const verify::Inputs& inputs = stored.inputs;
    const Problem problem = problem_of(inputs.q, inputs.k, inputs.v, inputs.dout, options.mask, options.ring);
    verify::Answer answer = empty_answer(problem, inputs.q.dtype(), !inputs.dout.empty());
    ranks.run(problem.world_size,
              [&](Communicator& comm) { attend_on(comm, problem, plan, inputs, answer); });
    if (ranks.speaks()) {
      write_answer(options.output, answer, stored.storage);
      std::printf("%s: %s%s of %lld tokens, %s, %d rank%s, %s\n", options.output.c_str(), "out, lse",
                  inputs.dout.empty() ? "" : ", dq, dk, dv", static_cast<long long>(problem.shape.seqlen),
                  described(problem.mask).c_str(), problem.world_size, problem.world_size == 1 ? "" : "s",
                  std::string(name_of(problem.layout)).c_str());
    }
    return 0;
  });
}

}  // namespace

void add_attend(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("attend", "Exact ring attention over the tensors of a safetensors file");
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
  options->ring.add_to(*command);
  options->mask.add_to(*command);
  command->add_option("--method", options->method, "ring")->capture_default_str()->type_name("M");
  command->add_option("--ulysses", options->ulysses, "Not in this version")->type_name("U");
  command->add_option("--schedule", options->schedule, "Way of the gradients: forward or reversed")
      ->capture_default_str()
      ->type_name("S");
  command->add_option("--backend", options->backend, "threads, or mpi under mpirun -n N")
      ->capture_default_str()
      ->type_name("B");
  command
      ->add_option(
          "--dtype", options->dtype,
          "float32, float64, or bfloat16 (rounds inputs and outputs, computes in float32); default: the "
          "input's")
      ->type_name("T");
  command->add_option("--trace", options->trace, "Not in this version")->type_name("F");
  command->footer(
      "Example: ./ringcraft attend --input qkv.safetensors --output out.safetensors --ranks 4 --layout "
      "zigzag --causal");
  command->callback([&action, options] { action = [options] { return attend(*options); }; });
}

}  // namespace ringcraft::tool
