// verify: judges someone's tensors against the oracle, and says where they first go wrong; or proves
// someone's schedule.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/claim.hpp"
#include "tool/commands.hpp"
#include "tool/options.hpp"
#include "tool/output.hpp"
#include "tool/tensor_files.hpp"
#include "tool/text_file.hpp"
#include "verify/report.hpp"
#include "verify/schedule_text.hpp"

namespace ringcraft::tool {
namespace {

struct VerifyOptions {
  std::string input, claim, schedule;
  MaskOptions mask;
  RingOptions ring;
  std::string dtype;
  bool tf32 = false;
  verify::Ranks ranks = verify::Ranks::kUnknown;
};

// Proves the schedule of a text; no tensors are needed for it.
int verify_schedule(const std::string& path) {
  constexpr std::uintmax_t kLargestSchedule = 16 << 20;  // bytes
  const verify::WrittenSchedule schedule =
      verify::parse_schedule(read_text_file("--schedule", path, kLargestSchedule), path);
  const verify::ScheduleProof proof =
      verify::prove_schedule(schedule.trace, schedule.problem, schedule.goal, schedule.notes);
  const Problem& p = schedule.problem;
  const std::string title = path + " (" + described(p.mask) + ", " + counted(p.shape.seqlen, "token") + ", " +
                            counted(p.world_size, "rank") + ", " + std::string(name_of(p.layout)) + ")";
  std::fputs(verify::text_of(verify::report_of(proof, schedule.goal, title), colour()).c_str(), stdout);
  return proof.good() ? 0 : static_cast<int>(Code::kWrongAnswer);
}

int verify_claim(const VerifyOptions& options) {
  if (options.input.empty() || options.claim.empty())
    throw Error("verify", "--input and --claim, or --schedule",
                options.input.empty() ? "no --input" : "no --claim", "see ./ringcraft verify --help");
  const StoredInputs stored = read_inputs(options.input, {});
  const verify::Inputs& inputs = stored.inputs;
  const Problem problem = problem_of(inputs.q, inputs.k, inputs.v, inputs.dout, options.mask, options.ring);
  verify::Answer claim = read_answer(options.claim, inputs.has_backward());
  const std::string title = options.claim + " (" + described(problem.mask) + ", " +
                            counted(problem.world_size, "rank") + ", " +
                            std::string(name_of(problem.layout)) + ")";
  PrecisionOptions precision{.tf32 = options.tf32};
  if (!options.dtype.empty()) precision.dtype = dtype_named(options.dtype);
  const ClaimVerdict verdict =
      judge_claim(problem, stored, std::move(claim), options.ranks, precision, title);
  std::fputs(verify::text_of(verdict.report, colour()).c_str(), stdout);
  for (const std::string& line : verdict.lines) std::printf("%s\n", line.c_str());
  return verdict.good ? 0 : static_cast<int>(Code::kWrongAnswer);
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("verify", "Judge someone's attention: is it right, and if not, where first?");
  auto options = std::make_shared<VerifyOptions>();
  command->add_option("--input", options->input, "q, k, v and, to judge gradients, dout")->type_name("F");
  command
      ->add_option("--claim", options->claim, "The claimed out and lse, and dq, dk, dv, rows in global order")
      ->type_name("G");
  CLI::Option* schedule = command->add_option(
      "--schedule", options->schedule,
      "Instead of tensors: a text that says who sends, receives and computes what at which step");
  schedule->type_name("S");
  command
      ->add_option("--dtype", options->dtype,
                   "The type that the claim was computed in, where it is written in a wider one: float64, "
                   "float32, bfloat16 or float16")
      ->type_name("T");
  command->add_flag("--tf32", options->tf32, "Its products take float32 operands in TF32");
  options->ring.add_to(*command);
  options->mask.add_to(*command);
  for (CLI::Option* other : command->get_options())  // a schedule says all of that itself
    if (other != schedule && other != command->get_help_ptr()) schedule->excludes(other);
  command->footer(
      "Ranks and layout do not change what is right; they say which rank a wrong row belongs to, and in "
      "which ring\n"
      "to look for the mistake. Without both, other rings are tried too. See docs/pages/verify.md.\n"
      "Example: ./ringcraft verify --input qkv.safetensors --claim theirs.safetensors --ranks 8 --layout "
      "zigzag --causal\n\n"
      "A schedule is a text of its own; # begins a comment:\n"
      "  ranks 3                 also: tokens N, layout L, mask causal | window W, packed 0,5,12\n"
      "  step 0                  pass backward [reversed], costs ring\n"
      "  0: send K0 to 1, recv K2 from 2, compute q0 k0, wait\n"
      "  1: ...                  one line for each rank; [recv ...] into A names the memory;\n"
      "                          backward also: dK0 travels, add dK0 adds the rank's share to it\n"
      "Example: ./ringcraft verify --schedule src/verify/examples/ring_forward.schedule");
  command->callback([&action, command, options] {
    if (command->count("--ranks") + command->count("--layout") > 0) options->ranks = verify::Ranks::kKnown;
    action = [options] {
      return options->schedule.empty() ? verify_claim(*options) : verify_schedule(options->schedule);
    };
  });
}

}  // namespace ringcraft::tool
