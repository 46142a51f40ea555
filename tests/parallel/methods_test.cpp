// Every method: exact against the oracle, at the cost of its theory, on random problems and over the shared
// cases that it does not refuse.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "parallel/method_choices.hpp"
#include "ringcraft/comm/fibers/fibers.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/schedule/schedule.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

void check_cost(const verify::PassCost& cost, const Theory& theory) {
  for (std::size_t r = 0; r < theory.pairs.size(); ++r) {
    CAPTURE(r);
    CHECK(cost.traffic[r].bytes_sent == theory.bytes_sent[r]);
    CHECK(cost.traffic[r].messages_sent == theory.messages_sent[r]);
    CHECK(cost.work[r].pairs == theory.pairs[r]);
  }
}

void check_schedule(const Choice& choice, const Problem& problem, Pass pass, const Trace& trace) {
  const verify::ScheduleGoal goal{
      .forward = pass == Pass::kForward,
      .backward = pass == Pass::kBackward,
      .costs =
          verify::PassCosts{
              .pass = pass, .options = choice.options, .bytes = {8, 8}, .method = choice.method},
      .degree = verify::dealing_degree(*choice.method, problem, choice.options)};
  const verify::ScheduleProof proof = prove_schedule(trace, problem, goal);
  for (const verify::Violation& violation : proof.violations) {
    INFO(violation.sentence);
    CHECK(proof.good());
  }
}

std::uint64_t seed_of_run() {
  const char* given = std::getenv("RINGCRAFT_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

// Runs a problem with a method, and compares everything that it may be compared with.
void check_method(const Choice& choice, const verify::Case& one, const verify::Inputs& inputs,
                  const verify::Oracle& want) {
  const Problem& problem = one.problem;
  INFO(choice.name() << ": " << one.name);
  verify::Measurement cost;
  const verify::Answer answer = verify::run_over_ranks(problem, inputs,
                                                       {.options = choice.options,
                                                        .board = {.delivery_seed = one.seed},
                                                        .trace = true,
                                                        .method = choice.method,
                                                        .start = run_fibers},
                                                       &cost);
  const verify::Comparison verdict = verify::compare_exact(answer, want);
  INFO(verify::described(verdict, problem.sharding()));
  CHECK(verdict.good);
  const Theory forward = choice.method->theory(problem, choice.options, Pass::kForward, {8, 8}),
               backward = choice.method->theory(problem, choice.options, Pass::kBackward, {8, 8});
  check_cost(cost.forward, forward);
  check_cost(cost.backward, backward);
  check_schedule(choice, problem, Pass::kForward, *cost.forward.trace);
  check_schedule(choice, problem, Pass::kBackward, *cost.backward.trace);
  for (std::size_t r = 0; r < forward.peak_bytes.size(); ++r) {
    CAPTURE(r);
    CHECK(cost.forward.peak_bytes[r] == forward.peak_bytes[r]);
    CHECK(cost.backward.peak_bytes[r] == std::max(forward.peak_bytes[r], backward.peak_bytes[r]));
  }
}

// Heads that can be dealt to many ranks, on 1 to 8 ranks.
Problem some_problem(Random& random) {
  static constexpr Index kHeads[][2] = {{1, 1}, {2, 1}, {4, 2}, {6, 3}, {6, 6}, {8, 2}, {8, 4}, {12, 4}};
  Problem problem = random_problem(random, 8, 40);
  const auto& heads = kHeads[random.integer(0, std::size(kHeads) - 1)];
  problem.shape.heads = heads[0];
  problem.shape.kv_heads = heads[1];
  return problem;
}

}  // namespace

TEST_CASE("every method is exact, at the cost of its theory, on random problems") {
  const int trials = (kUnderSanitizer ? 100 : 1000) * (long_run() ? 10 : 1);
  const std::uint64_t seed = seed_of_run();
  std::printf("%d random problems, every method that admits them, from RINGCRAFT_SEED=%llu\n", trials,
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  Random random(seed);
  for (int trial = 0; trial < trials; ++trial) {
    const Problem problem = some_problem(random);
    const verify::Data data = verify::kAllData[static_cast<std::size_t>(trial) % std::size(verify::kAllData)];
    const verify::Case one = verify::make_case(problem, data, static_cast<std::uint64_t>(trial) + 1);
    const verify::Inputs inputs = verify::make_inputs(one, DType::kFloat64);
    const verify::Oracle want = verify::oracle(problem, inputs);
    for (const Choice& choice : choices(problem)) check_method(choice, one, inputs, want);
  }
}

TEST_CASE("every method is exact over its share of the case table") {
  using enum verify::CaseSet;
  std::vector<verify::Case> cases =
      fewer_under_sanitizer(verify::case_table(long_run() ? kFull : kBrief), 10);
  std::size_t runs = 0;
  for (const verify::Case& one : cases) {
    const verify::Inputs inputs = verify::make_inputs(one, DType::kFloat64);
    const verify::Oracle want = verify::oracle(one.problem, inputs);
    for (const Choice& choice : choices(one.problem)) {
      check_method(choice, one, inputs, want);
      ++runs;
    }
  }
  std::printf("%zu cases, %zu runs\n", cases.size(), runs);
}
