// A method is a value: a second one runs wherever the ring does, without an edit elsewhere.
#include "ringcraft/parallel/method.hpp"

#include "parallel/all_gather.hpp"
#include "support/catch.hpp"
#include "support/cost_engine.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"

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
  CHECK(cost.imbalance() == theory.imbalance());
}

// The sentence with which every rank refuses this pass, before anything is sent.
std::string refusal(const Method& method, Pass pass) {
  constexpr int n = 3;
  const Problem problem = make_problem({.seqlen = 10, .head_dim = 4}, causal_mask(), Layout::kZigzag, n);
  std::vector<Outcome> outcomes(n);
  const RanksReport report = run_ranks(n, [&](ThreadCommunicator& comm) {
    const CostEngine engine(comm, {});
    outcomes[static_cast<std::size_t>(comm.rank())] =
        outcome_of([&] { refuse(method, problem, {}, pass, comm, engine); });
  });
  CHECK(report.traffic == std::vector<Traffic>(n));
  for (const Outcome& outcome : outcomes) CHECK(outcome.sentence == outcomes[0].sentence);
  return outcomes[0].sentence;
}

}  // namespace

TEST_CASE("an all-gather is one value: exact, at the cost of its theory") {
  const std::vector<Mask> masks{
      full_mask(), causal_mask(), window_mask(5), {.right = 0, .cu_seqlens = {0, 5, 24, 25, 31}}};
  for (const Mask& mask : masks)
    for (const int n : {1, 2, 3, 5})
      for (const Layout layout : kLayouts)
        for (const Position seqlen : {31, 40}) {
          const Mask own = mask.cu_seqlens.empty() || seqlen == 31 ? mask : causal_mask();
          const Problem problem = make_problem({2, 4, 2, seqlen, 4}, own, layout, n);
          INFO(described(problem));
          const verify::Inputs inputs =
              verify::make_inputs(verify::make_case(problem, verify::Data::kNormal, 7), DType::kFloat64);
          verify::Measurement cost;
          const verify::Answer answer =
              verify::run_over_ranks(problem, inputs, {.method = &kAllGather}, &cost);
          const verify::Comparison verdict = verify::compare_exact(answer, verify::oracle(problem, inputs));
          INFO(verify::described(verdict, problem.sharding()));
          CHECK(verdict.good);
          check_cost(cost.forward, kAllGather.theory(problem, {}, Pass::kForward, {8, 8}));
          check_cost(cost.backward, kAllGather.theory(problem, {}, Pass::kBackward, {8, 8}));
        }
}

TEST_CASE("the theory of the ring as a method is the ring's") {
  Random random(161);
  for (int trial = 0; trial < 30; ++trial) {
    const Problem problem = random_problem(random, 6, 30);
    INFO(described(problem));
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
      const MethodOptions options{.schedule = schedule};
      verify::Measurement cost;
      verify::run_over_ranks(
          problem, verify::make_inputs(verify::make_case(problem, verify::Data::kNormal, 7), DType::kFloat32),
          {.options = options}, &cost);
      check_cost(cost.forward, kRing.theory(problem, options, Pass::kForward, {4, 4}));
      check_cost(cost.backward, kRing.theory(problem, options, Pass::kBackward, {4, 4}));
    }
  }
}

TEST_CASE("a problem that a method cannot run is refused on every rank, with one sentence and no message") {
  const auto no_zigzag = [](const Problem& problem, const MethodOptions&, Pass, const Communicator&,
                            const BlockEngine&) {
    if (problem.layout != Layout::kContiguous)
      throw Error("layout", "contiguous", std::string(name_of(problem.layout)), "use the ring");
  };
  const Method forward_only{"half", nullptr, kAllGather.forward, nullptr, kAllGather.theory};
  const Method contiguous_only{"rows", no_zigzag, kAllGather.forward, kAllGather.backward, kAllGather.theory};
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    CHECK(refusal(kRing, pass) == "nothing thrown");
    CHECK(contains(refusal(contiguous_only, pass), "layout: expected contiguous, got zigzag; use the ring"));
  }
  CHECK(refusal(forward_only, Pass::kForward) == "nothing thrown");
  CHECK(contains(refusal(forward_only, Pass::kBackward),
                 "method: expected one with a backward pass, got half"));
  // Before the forward pass, not after it.
  const Problem problem = make_problem({.seqlen = 10, .head_dim = 4}, causal_mask(), Layout::kZigzag, 3);
  const verify::Inputs inputs =
      verify::make_inputs(verify::make_case(problem, verify::Data::kNormal, 7), DType::kFloat32);
  const Outcome whole =
      outcome_of([&] { verify::run_over_ranks(problem, inputs, {.method = &forward_only}); });
  CHECK(contains(whole.sentence, "expected one with a backward pass"));
}
