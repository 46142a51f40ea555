// Random problems, drawn anew in every run: the ring's forward pass and both backward schedules against the
// oracle, and the schedule checker over every pass. The seed is printed; RINGCRAFT_SEED repeats it. A failure
// is made as small as it gets and becomes a command line.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "properties/reproduction.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/schedule/schedule.hpp"

namespace ringcraft::testing {
namespace {

using verify::Measurement;

constexpr int kProblems = kUnderSanitizer ? 100 : 1000;

std::uint64_t seed_of_run() {
  const char* given = std::getenv("RINGCRAFT_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

int problems_of_run() { return kProblems * (long_run() ? 10 : 1); }

// The first violation of a pass, if its schedule is wrong.
std::optional<std::string> wrong_schedule(const verify::PassCost& cost, const Problem& problem, Pass pass,
                                          Schedule schedule) {
  const verify::ScheduleGoal goal{
      .forward = pass == Pass::kForward,
      .backward = pass == Pass::kBackward,
      .costs = verify::PassCosts{.pass = pass, .options = {.schedule = schedule}, .bytes = {8, 8}}};
  const verify::ScheduleProof proof = prove_schedule(*cost.trace, problem, goal);
  if (proof.good()) return {};
  return std::string(pass == Pass::kForward ? "forward" : "backward") +
         " pass: " + proof.violations.front().sentence;
}

// How messages are delivered: at once, or late and out of order as the recipe's seed decides.
enum class Timing : std::uint8_t { kAtOnce, kBySeed };

// The fault of a recipe under one schedule.
std::optional<std::string> wrong(const Recipe& recipe, Schedule schedule, const verify::Inputs& inputs,
                                 const verify::Oracle& want, Timing timing) {
  const Problem problem = problem_of(recipe);
  const verify::RanksOptions options{.options = {.schedule = schedule},
                                     .board = {.delivery_seed = timing == Timing::kBySeed ? recipe.seed : 0},
                                     .trace = true};
  try {
    Measurement cost;
    const verify::Answer answer = verify::run_over_ranks(problem, inputs, options, &cost);
    const verify::Comparison comparison = verify::compare_exact(answer, want);
    if (!comparison.good) return described(comparison, problem.sharding());
    if (const auto forward = wrong_schedule(cost.forward, problem, Pass::kForward, schedule)) return forward;
    return wrong_schedule(cost.backward, problem, Pass::kBackward, schedule);
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::optional<std::string> wrong(const Recipe& recipe, Schedule schedule, Timing timing) {
  const verify::Inputs inputs = verify::make_inputs(case_of(recipe), DType::kFloat64);
  return wrong(recipe, schedule, inputs, verify::oracle(problem_of(recipe), inputs), timing);
}

// Shrinks a failure and says how to see it again. Faults that show only under late delivery are left to this
// test, since `attend` delivers at once.
void tell(const Recipe& recipe, Schedule schedule, std::uint64_t seed_of_all) {
  const Timing timing = wrong(recipe, schedule, Timing::kAtOnce) ? Timing::kAtOnce : Timing::kBySeed;
  const Recipe small = shrunk(recipe, [&](const Recipe& r) { return wrong(r, schedule, timing); });
  const std::string text = report(small, wrong(small, schedule, timing).value_or("(it fails now and then)"),
                                  reproduction(small, schedule, "failing"));
  std::printf("%s", text.c_str());  // Catch2 would break the commands into lines
  if (timing == Timing::kBySeed)
    std::printf(
        "it fails only when messages come late: RINGCRAFT_SEED=%llu ./ringcraft test random_problems\n",
        static_cast<unsigned long long>(seed_of_all));
}

}  // namespace

TEST_CASE("random problems are computed exactly, and by right schedules") {
  const std::uint64_t seed = seed_of_run();
  const int problems = problems_of_run();
  std::printf("%d random problems, both schedules, from RINGCRAFT_SEED=%llu\n", problems,
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  Random random(seed);
  for (int i = 0; i < problems; ++i) {
    const Recipe recipe = random_recipe(random, Masks::kCommandLine);
    const verify::Inputs inputs = verify::make_inputs(case_of(recipe), DType::kFloat64);
    const verify::Oracle want = verify::oracle(problem_of(recipe), inputs);
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
      const Timing timing = i % 4 == 0 ? Timing::kAtOnce : Timing::kBySeed;
      if (!wrong(recipe, schedule, inputs, want, timing)) continue;
      tell(recipe, schedule, seed);
      FAIL("problem " << i << " fails; what to type stands above");
    }
  }
  SUCCEED();
}

TEST_CASE("random problems cover every axis") {
  Random random(1);
  int fewer_tokens = 0, ragged = 0, packed = 0, by_itself = 0, grouped = 0, windows = 0, one_rank = 0;
  for (int i = 0; i < 1000; ++i) {
    const Recipe r = random_recipe(random, Masks::kCommandLine);
    fewer_tokens += r.seqlen < r.ranks;
    ragged += r.seqlen > r.ranks && r.seqlen % (2 * r.ranks) != 0;
    packed += !r.borders.empty();
    by_itself += r.per_sequence;
    grouped += r.kv_heads > 1 && r.group > 1;
    windows += r.left != kNoLimit;
    one_rank += r.ranks == 1;
    CHECK((r.right == 0 || (r.right == kNoLimit && r.left == kNoLimit)));  // attend has a flag for it
    problem_of(r);                                                         // throws if it is no problem
  }
  for (const int count : {fewer_tokens, ragged, packed, by_itself, grouped, windows, one_rank})
    CHECK(count > 40);
}

}  // namespace ringcraft::testing
