// verify: judges someone's tensors against the oracle, and says where they first go wrong; or proves
// someone's schedule.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"
#include "tool/attention/claim.hpp"
#include "tool/attention/claim_report.hpp"
#include "tool/claims/given_claim.hpp"
#include "tool/commands/commands.hpp"
#include "tool/commands/options.hpp"
#include "tool/ranks/tensor_files.hpp"
#include "tool/terminal/output.hpp"
#include "verify/report/report.hpp"
#include "verify/schedule/schedule_text.hpp"

namespace ringcraft::tool {
namespace {

struct VerifyOptions {
  std::string input, schedule, json, dtype;
  ClaimFlags flags;
  MaskOptions mask;
  PrecisionOptions precision;
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

// The problem that a claim answers, in the ring in which it was computed, as far as that is known.
Problem problem_of(const FormedInputs& formed, const VerifyOptions& options, DealOptions deal) {
  if (!deal.softmax_scale && formed.widths.key > 0)  // the tensors may be padded to a greater width
    deal.softmax_scale = 1 / std::sqrt(static_cast<double>(formed.widths.key));
  const verify::Inputs& in = formed.stored.inputs;
  return problem_of(in.q, in.k, in.v, in.dout, options.mask, deal);
}

// The claim with its rows in each other order that its shapes allow.
std::vector<OtherRows> other_rows(const GivenClaim& given, const ClaimShape& about) {
  std::vector<OtherRows> others;
  for (const auto& [remedy, order] : other_orders(given, about.shape.seqlen))
    others.push_back({remedy, [&given, &about, order = order] {
                        try {
                          return read_claim(given.files, order, about).answer;
                        } catch (const Error&) {  // these rows do not fit that order
                          return verify::Answer();
                        }
                      }});
  return others;
}

ClaimVerdict judged(const FormedInputs& inputs, const VerifyOptions& options) {
  const Problem whole = problem_of(inputs, options, options.flags.deal);  // refuses what makes no sense
  const GivenClaim given = given_claim(options.flags, whole.shape.seqlen);
  for (const auto& file : given.files.paths) require_other_file("--json", options.json, file);
  require_other_file("--json", options.json, options.flags.layout);  // which may be a file of positions
  const Problem problem = problem_of(inputs, options, given.deal);
  const ClaimShape about{problem.shape, inputs.widths, inputs.order, problem.mask.cu_seqlens,
                         inputs.stored.inputs.has_backward()};
  ReadClaim claim = read_claim(given.files, given.order, about);
  const std::string title = options.flags.claim + " (" + described(problem.mask) + ", " +
                            counted(problem.world_size, "rank") + ", " +
                            std::string(name_of(problem.layout)) + ")";
  PrecisionOptions precision = options.precision;
  if (!options.dtype.empty()) precision.dtype = dtype_named(options.dtype);
  ClaimVerdict verdict = judge_claim({problem, inputs.stored, std::move(claim.answer),
                                      std::move(claim.unjudged), inputs.widths.key, inputs.widths.value,
                                      given.ranks, precision, title, other_rows(given, about)});
  verdict.files = {given.files.paths.size(), given.files.per_rank, given.rows};
  verdict.readings = inputs.readings;
  verdict.readings.insert(verdict.readings.end(), claim.readings.begin(), claim.readings.end());
  return verdict;
}

// Whether a claim is clearly less wrong in one reading of its inputs than in another.
bool clearly_better(const ClaimVerdict& one, const ClaimVerdict& other) {
  if (one.good || other.good) return one.good;
  return 10 * one.wrong < 9 * other.wrong || 10 * one.worst_share < other.worst_share;
}

// Where the shapes of the inputs allow two orders of axes, the claim decides: the second order is taken if
// the claim cannot be read in the first, or is clearly less wrong in the second. Right only as more heads
// than tokens it may be attention over the wrong axis.
ClaimVerdict judged(const VerifyOptions& options) {
  const auto inputs = [&](TakeOrder take) {
    return read_formed_inputs(options.input, options.mask.mask().cu_seqlens,
                              heads_of_lse(files_of_claim(options.flags.claim)), take);
  };
  const FormedInputs likelier = inputs(TakeOrder::kLikelier);
  if (!likelier.doubtful) return judged(likelier, options);
  std::optional<ClaimVerdict> verdict;
  std::exception_ptr refusal;
  try {
    verdict = judged(likelier, options);
    if (verdict->good && !likelier.many_heads) return *verdict;
  } catch (const Error&) {
    refusal = std::current_exception();
  }
  try {
    ClaimVerdict other = judged(inputs(TakeOrder::kOther), options);
    if (!verdict || clearly_better(other, *verdict)) return other;
  } catch (const Error&) {  // then what was said of the first holds
  }
  if (!verdict) std::rethrow_exception(refusal);
  if (verdict->good) refuse_many_heads(likelier);
  return *verdict;
}

int verify_claim(const VerifyOptions& options) {
  if (options.input.empty() || options.flags.claim.empty())
    throw Error("verify", "--input and --claim, or --schedule",
                options.input.empty() ? "no --input" : "no --claim", "see ./ringcraft verify --help");
  for (const std::string& read : {options.input, options.flags.claim})
    require_other_file("--json", options.json, read);
  require_writable("--json", options.json);
  const ClaimVerdict verdict = judged(options);
  std::fputs(text_of(verdict, colour()).c_str(), stdout);
  if (!options.json.empty()) write_text("--json", options.json, json_of(verdict));
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
  for (CLI::Option* other : command->get_options())  // a schedule says all of that itself
    if (other != schedule && other != command->get_help_ptr()) schedule->excludes(other);
  command->footer(
      "Ranks and layout do not change what is right; they say which rank a wrong row belongs to, and in "
      "which ring\n"
      "to look for the mistake. Without both, other rings are tried too. See docs/pages/verify.md.\n"
      "Example: ./ringcraft verify --input qkv.safetensors --claim theirs.safetensors --ranks 8 --layout "
      "zigzag --causal\n"
      "Example: ./ringcraft verify --input qkv.safetensors --claim dumps --claim-layout zigzag --causal\n\n"
      "A schedule is a text of its own; # begins a comment:\n"
      "  ranks 3                 also: tokens N, layout L, mask causal | window W, packed 0,5,12\n"
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
