// A method is a value: a second one runs wherever the ring does, without an edit elsewhere.
#include "ringcraft/parallel/method.hpp"

#include "parallel/method_choices.hpp"
#include "ringcraft/parallel/cost_engine.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// The sentence with which every rank refuses this pass, before anything is sent.
std::string refusal(const Method& method, Pass pass) {
  constexpr int n = 3;
  const Problem problem = make_problem({.seqlen = 10, .head_dim = 4}, causal_mask(), Layout::kZigzag, n);
  std::vector<Outcome> outcomes(n);
  const RanksReport report = run_ranks(n, [&](ThreadCommunicator& comm) {
    const CostEngine engine(comm, BlockCost{});
    outcomes[static_cast<std::size_t>(comm.rank())] =
        outcome_of([&] { refuse(method, problem, {}, pass, comm, engine); });
  });
  CHECK(report.traffic == std::vector<Traffic>(n));
  for (const Outcome& outcome : outcomes) CHECK(outcome.sentence == outcomes[0].sentence);
  return outcomes[0].sentence;
}

}  // namespace

TEST_CASE("a problem that a method cannot run is refused on every rank, with one sentence and no message") {
  const auto no_zigzag = [](const Problem& problem, const MethodOptions&) {
    if (problem.layout != Layout::kContiguous)
      throw Error("layout", "contiguous", std::string(name_of(problem.layout)), "use the ring");
  };
  const Method forward_only{"half", 0, nullptr, kAllGather.forward, nullptr, kAllGather.theory};
  const Method contiguous_only{"rows",           0, no_zigzag, kAllGather.forward, kAllGather.backward,
                               kAllGather.theory};
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

TEST_CASE("a method admits the options of its contract, and refuses all others") {
  static constexpr Index kHeads[][2] = {{12, 4}, {8, 2}, {6, 3}, {6, 6}, {8, 1}, {5, 5}};
  for (const auto& [heads, kv_heads] : kHeads)
    for (const int n : {1, 2, 3, 4, 6, 8, 12}) {
      const Problem problem = make_problem({1, heads, kv_heads, 24, 4}, causal_mask(), Layout::kZigzag, n);
      const auto refused = [&](const Method& method, const MethodOptions& options) {
        return outcome_of([&] { refuse(method, problem, options); }).code == Code::kWrongCall;
      };
      for (int value = -2; value <= 13; ++value) {
        CAPTURE(heads, kv_heads, n, value);
        const bool divides = value > 0 && n % value == 0;
        CHECK(refused(kRing, {.ulysses = value}) == (value != 0));
        CHECK(refused(kRing, {.gather_heads = value}) == (value != 0));
        CHECK(refused(kRing, {.node = value}) == (value != 0));
        CHECK(refused(kAllGather, {.gather_heads = value}) ==
              !(value == 0 || (value > 0 && problem.shape.kv_heads % value == 0)));
        CHECK(refused(kUlysses, {.ulysses = value}) ==
              !((value == 0 || value == n) && can_deal(problem.shape, n)));
        CHECK(refused(kHybrid, {.ulysses = value}) == !(divides && can_deal(problem.shape, value)));
        CHECK(refused(kDoubleRing, {.node = value}) == !(value == 0 || divides));
      }
    }
}

TEST_CASE("theory says how many steps a pass has, and what share of the heads a block") {
  const Problem problem = make_problem({1, 8, 4, 24, 4}, full_mask(), Layout::kContiguous, 6);
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const auto theory = [&](const Method& method, const MethodOptions& options) {
      return method.theory(problem, options, pass, {4, 4});
    };
    CHECK(theory(kAllGather, {}).steps == 5 + 6);
    CHECK(theory(kAllGather, {.gather_heads = 1}).steps == 5 + 4 * 6);
    CHECK(theory(kAllGather, {.gather_heads = 1}).heads == 0.25);
    CHECK(theory(kHybrid, {.ulysses = 2}).steps == 3);
    CHECK(theory(kHybrid, {.ulysses = 2}).heads == 0.5);
    CHECK(theory(kDoubleRing, {.node = 3}).steps == 6);
    CHECK(theory(kDoubleRing, {.node = 3}).heads == 1);
  }
}
