// verify: compares given tensors with the oracle, and names the place of their first error; or proves a given
// schedule.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <optional>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"
#include "tool/attention/given_claim.hpp"
#include "tool/commands/commands.hpp"
#include "tool/commands/options.hpp"
#include "tool/terminal/output.hpp"
#include "tool/terminal/phases.hpp"
#include "verify/claims/claim.hpp"
#include "verify/claims/claim_report.hpp"
#include "verify/claims/either_order.hpp"
#include "verify/claims/other_rows.hpp"
#include "verify/report/report.hpp"
#include "verify/schedule/schedule_text.hpp"

namespace ringcraft::tool {
namespace {

struct VerifyOptions {
  std::string input, schedule, json, dtype;
  ClaimFlags flags;
  MaskOptions mask;
  verify::PrecisionOptions precision;
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
                            counted(p.world_size, "rank") + ", " + described(p.sharding()) + ")";
  std::fputs(verify::text_of(verify::report_of(proof, schedule.goal, title), colour()).c_str(), stdout);
  return proof.good() ? 0 : static_cast<int>(Code::kWrongAnswer);
}

// The problem that a claim answers, in the ring in which it was computed, as far as that is known.
Problem problem_of(const verify::FormedInputs& formed, const VerifyOptions& options, DealOptions deal) {
  if (!deal.softmax_scale && formed.widths.key > 0)  // the tensors may be padded to a greater width
    deal.softmax_scale = 1 / std::sqrt(static_cast<double>(formed.widths.key));
  const verify::Inputs& in = formed.stored.inputs;
  return problem_of(in.q, in.k, in.v, in.dout, options.mask, deal);
}

// Shows the progress of a judgement on a terminal.
class JudgingShown {
 public:
  void at(verify::JudgingPhase phase, double share) {
    if (phase == verify::JudgingPhase::kOracle) {
      if (!bar_) bar_.emplace(1);
      return bar_->at(share, "computing what is right");
    }
    bar_.reset();
    if (!phases_) phases_.emplace();
    phases_->begin(phase == verify::JudgingPhase::kComparing ? "comparing" : "looking for the mistake");
  }

 private:
  std::optional<Progress> bar_;
  std::optional<Phases> phases_;
};

verify::ClaimVerdict judged(const verify::FormedInputs& inputs, const VerifyOptions& options) {
  const Problem whole = problem_of(inputs, options, options.flags.deal);  // refuses impossible values
  const GivenClaim given = given_claim(options.flags, whole.shape.seqlen, whole.sharding().cu_seqlens);
  for (const auto& file : given.files.paths) require_other_file("--json", options.json, file);
  require_other_file("--json", options.json, options.flags.layout);  // which may be a file of positions
  const Problem problem = problem_of(inputs, options, given.deal);
  const verify::ClaimShape about{problem.shape, inputs.widths, inputs.order, problem.mask.cu_seqlens,
                                 inputs.stored.inputs.has_backward()};
  verify::ReadClaim claim = verify::read_claim(given.files, given.order, about);
  verify::PrecisionOptions precision = options.precision;
  if (!options.dtype.empty()) precision.dtype = dtype_named(options.dtype);
  JudgingShown shown;
  verify::ClaimVerdict verdict = verify::judge_claim(
      {.problem = problem,
       .stored = inputs.stored,
       .answer = std::move(claim.answer),
       .unjudged = std::move(claim.unjudged),
       .key_width = inputs.widths.key,
       .value_width = inputs.widths.value,
       .precision = precision,
       .title = options.flags.claim + " (" + described(problem.mask) + ", " +
                counted(problem.world_size, "rank") + ", " + described(problem.sharding()) + ")",
       .others = verify::other_rows(given.files, given.order, given.deal.ranks, about),
       .diagnose = {.ranks = given.ranks},
       .progress = [&](verify::JudgingPhase phase, double share) { shown.at(phase, share); }});
  verdict.files = {given.files.paths.size(), given.files.per_rank, given.rows};
  verdict.readings = inputs.readings;
  verdict.readings.insert(verdict.readings.end(), claim.readings.begin(), claim.readings.end());
  return verdict;
}

verify::ClaimVerdict judged(const VerifyOptions& options) {
  return verify::judge_in_either_order(
      [&](verify::TakeOrder take) {
        const verify::ClaimFiles files = verify::files_of_claim(options.flags.claim);
        return verify::read_formed_inputs(options.input, options.mask.mask().cu_seqlens,
                                          verify::heads_of_lse(files), take);
      },
      [&](const verify::FormedInputs& inputs) { return judged(inputs, options); });
}

int verify_claim(const VerifyOptions& options) {
  if (options.input.empty() || options.flags.claim.empty())
    throw Error("verify", "--input and --claim, or --schedule",
                options.input.empty() ? "no --input" : "no --claim", "see ./ringcraft verify --help");
  for (const std::string& read : {options.input, options.flags.claim})
    require_other_file("--json", options.json, read);
  require_writable("--json", options.json);
  const verify::ClaimVerdict verdict = with_inputs_of(options.input, [&] { return judged(options); });
  std::fputs(verify::text_of(verdict, colour()).c_str(), stdout);
  if (!options.json.empty()) write_text("--json", options.json, verify::json_of(verdict));
  return verdict.good ? 0 : static_cast<int>(Code::kWrongAnswer);
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("verify", "Judge someone's attention: is it right, and if not, where first?");
  auto options = std::make_shared<VerifyOptions>();
  command->add_option("--input", options->input, "q, k, v and, to judge gradients, dout")->type_name("F");
  command
      ->add_option("--claim", options->flags.claim,
                   "The claimed out, lse, dq, dk, dv, as far as they are there: one file; or one for each "
                   "rank, as a folder or a pattern such as 'out_{rank}.safetensors'")
      ->type_name("G");
  command
      ->add_option("--claim-layout", options->flags.layout,
                   "Order of the claim's rows, of rank 0, rank 1, ...: a layout, zigzag:8 over 8 virtual "
                   "ranks, or a text that lists the position of every row; default: that of the sequence")
      ->type_name("L");
  CLI::Option* schedule = command->add_option(
      "--schedule", options->schedule,
      "Instead of tensors: a text that says who sends, receives and computes what at which step");
  schedule->type_name("S");
  command
      ->add_option("--dtype", options->dtype,
                   "The type that the claim was computed in, where it is written in a wider one: float64, "
                   "float32, bfloat16 or float16")
      ->type_name("T");
  command->add_flag("--tf32", options->precision.tf32, "Its products take float32 operands in TF32");
  options->flags.deal.add_to(*command);
  options->mask.add_to(*command);
  command->add_option("--json", options->json, "Also write the verdict for programs")->type_name("F");
  for (CLI::Option* other : command->get_options())  // a schedule contains all of that itself
    if (other != schedule && other != command->get_help_ptr()) schedule->excludes(other);
  command->footer(
      "Ranks and layout do not change what is right; they say which rank a wrong row belongs to, and in "
      "which ring\n"
      "to look for the mistake. Without both, other rings are tried too. See docs/pages/verify.md.\n"
      "Example: ./ringcraft verify --input qkv.safetensors --claim theirs.safetensors --ranks 8 --layout "
      "zigzag --causal\n"
      "Example: ./ringcraft verify --input qkv.safetensors --claim dumps --claim-layout zigzag --causal\n\n"
      "A schedule is a text of its own; # begins a comment:\n"
      "  ranks 3                 also: tokens N, layout L, mask causal | window W, packed 0,5,12 [each]\n"
      "  step 0                  pass backward [reversed], costs ring\n"
      "  0: send K0 to 1, recv K2 from 2, compute q0 k0, wait\n"
      "  1: ...                  one line for each rank; [recv ...] into A names the memory;\n"
      "                          backward also: dK0 travels, add dK0 adds the rank's share to it\n"
      "Example: ./ringcraft verify --schedule src/verify/examples/ring_forward.schedule");
  command->callback([&action, command, options] {
    options->flags.ranks_typed = command->count("--ranks") > 0;
    options->flags.layout_typed = command->count("--layout") > 0;
    action = [options] {
      return options->schedule.empty() ? verify_claim(*options) : verify_schedule(options->schedule);
    };
  });
}

}  // namespace ringcraft::tool
