// The schedule checker over recorded runs: the rings of the library are right, and cost what they must, on
// every kind of problem; a trace that lacks any one of its events is wrong.
#include "verify/schedule/schedule.hpp"

#include "ringcraft/ring/refuse.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/schedule/said.hpp"

namespace ringcraft::verify {
namespace {

Measurement recorded(const Problem& problem, Schedule schedule, std::uint64_t seed = 0,
                     DType type = DType::kFloat64) {
  Measurement cost;
  run_over_ranks(problem, make_inputs(make_case(problem, Data::kNormal, 3), type),
                 {.options = {.schedule = schedule}, .board = {.delivery_seed = seed}, .trace = true}, &cost);
  return cost;
}

ScheduleGoal goal_of(Pass pass, Schedule schedule, std::size_t bytes = 8) {
  return {.forward = pass == Pass::kForward,
          .backward = pass == Pass::kBackward,
          .costs = PassCosts{.pass = pass, .options = {.schedule = schedule}, .bytes = {bytes, bytes}}};
}

void check_right(const Problem& problem, Schedule schedule, std::uint64_t seed = 0,
                 DType type = DType::kFloat64) {
  INFO(testing::described(problem) << ", " << name_of(schedule) << ", seed " << seed);
  const Measurement cost = recorded(problem, schedule, seed, type);
  const std::size_t bytes = size_of(type);
  const ScheduleProof forward =
      prove_schedule(*cost.forward.trace, problem, goal_of(Pass::kForward, schedule, bytes));
  CHECK(said(forward) == "");
  const ScheduleProof backward =
      prove_schedule(*cost.backward.trace, problem, goal_of(Pass::kBackward, schedule, bytes));
  CHECK(said(backward) == "");
}

bool is_block(const TraceEvent& event) {
  return event.kind == TraceEvent::kForward || event.kind == TraceEvent::kBackward;
}

// A copy of a trace without one event of one rank, and without the wait that belongs to it.
Trace without(const Trace& trace, int rank, std::size_t dropped) {
  Trace copy(trace.world_size());
  for (int r = 0; r < trace.world_size(); ++r) {
    const auto& events = trace.rank(r).events();
    std::vector<std::size_t> new_number(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      TraceEvent event = events[i];
      if (r == rank && (i == dropped || (event.kind == TraceEvent::kWait && event.waits_for == dropped)))
        continue;
      event.waits_for = new_number[event.waits_for];
      new_number[i] = copy.rank(r).begin(std::move(event));
      copy.rank(r).end(new_number[i]);
    }
  }
  return copy;
}

}  // namespace

TEST_CASE("the rings are proved right on every layout, mask, length and number of ranks") {
  std::vector<Mask> masks{
      full_mask(), causal_mask(), window_mask(0), window_mask(3), {.left = 2, .right = 1}};
  for (int n = 1; n <= 8; ++n)
    for (const Layout layout : kLayouts)
      for (std::size_t m = 0; m < masks.size(); ++m) {
        const Position seqlen =
            4 * n + static_cast<Position>(m) - 2 > 0 ? 4 * n + static_cast<Position>(m) - 2 : 1;
        Mask mask = masks[m];
        if (m % 2 == 1 && seqlen > 3) mask.cu_seqlens = {0, seqlen / 3, seqlen};
        const Problem problem = make_problem({1, 2, 1, seqlen, 2}, mask, layout, n);
        check_right(problem,
                    (m + static_cast<std::size_t>(n)) % 2 == 0 ? Schedule::kForward : Schedule::kReversed);
      }
}

TEST_CASE("the rings are proved right on random problems, in any order of delivery") {
  Random random(411);
  for (int trial = 0; trial < (testing::tries_fewer() ? 24 : 120); ++trial) {
    const Problem problem = testing::random_problem(random, 8, 30);
    const auto seed = static_cast<std::uint64_t>(trial % 3);
    check_right(problem, Schedule::kForward, seed, trial % 4 == 0 ? DType::kFloat32 : DType::kFloat64);
    check_right(problem, Schedule::kReversed, seed);
  }
}

TEST_CASE("a proof counts what was computed and where gradients ended") {
  const Problem problem = make_problem({1, 2, 1, 13, 2}, causal_mask(), Layout::kContiguous, 3);
  const Measurement cost = recorded(problem, Schedule::kReversed);
  const ScheduleProof proof = prove_schedule(*cost.forward.trace, problem, {});
  CHECK(proof.replay.complete);
  CHECK(proof.replay.computations.size() == 6);  // rank r sees the blocks 0 to r
  for (const Computation& c : proof.replay.computations) {
    CHECK(c.block <= c.rank);
    CHECK(c.step == c.rank - c.block);
    CHECK_FALSE(c.backward);
  }
  const ScheduleProof back =
      prove_schedule(*cost.backward.trace, problem, {.forward = false, .backward = true, .costs = {}});
  CHECK(back.good());
  for (int owner = 0; owner < 3; ++owner) {
    int whole = 0;
    for (const HeldGradient& g : back.replay.gradients) {
      if (g.rank != owner || g.content.block != owner || g.content.kind != Content::kKeyGradient) continue;
      if (static_cast<int>(g.content.shares.size()) == 3 - owner) ++whole;
    }
    CHECK(whole >= 1);
  }
}

TEST_CASE("a trace that lacks any one event is wrong") {
  int events_dropped = 0;
  for (const auto& [mask, layout, n] : {std::tuple{full_mask(), Layout::kContiguous, 3},
                                        {causal_mask(), Layout::kZigzag, 3},
                                        {window_mask(4), Layout::kContiguous, 5}})
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
      const Problem problem = make_problem({1, 2, 1, 4 * n + 1, 2}, mask, layout, n);
      const Measurement cost = recorded(problem, schedule);
      for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
        const Trace& trace = pass == Pass::kForward ? *cost.forward.trace : *cost.backward.trace;
        for (int rank = 0; rank < n; ++rank) {
          Index pairs = 0;  // of the last block
          for (std::size_t i = 0; i < trace.rank(rank).events().size(); ++i) {
            const TraceEvent& event = trace.rank(rank).events()[i];
            if (is_block(event)) pairs = event.pairs;
            if (pairs == 0 && (event.kind == TraceEvent::kForward || event.kind == TraceEvent::kAdd))
              continue;  // it did nothing, or added nothing
            if (event.kind == TraceEvent::kBackward && event.tensors.back().bytes.size == 0)
              continue;  // no block came this far
            CAPTURE(rank, i, static_cast<int>(event.kind), name_of(schedule));
            const ScheduleProof proof =
                prove_schedule(without(trace, rank, i), problem, goal_of(pass, schedule));
            CHECK_FALSE(proof.good());
            ++events_dropped;
          }
        }
      }
    }
  CHECK(events_dropped > 400);
}

TEST_CASE("a goal that was not reached is reported, and one that was not asked for is not") {
  const Problem problem = make_problem({1, 2, 1, 9, 2}, full_mask(), Layout::kStriped, 3);
  const Measurement cost = recorded(problem, Schedule::kForward);
  const ScheduleProof both =
      prove_schedule(*cost.forward.trace, problem, {.forward = true, .backward = true, .costs = {}});
  CHECK(both.broken(ScheduleClaim::kPairs));
  CHECK(both.broken(ScheduleClaim::kGradients));
  CHECK(testing::contains(said(both), "rank 2 never computes its queries against K0 in the backward pass"));
  CHECK(testing::contains(said(both), "dK1 never reaches its owner, rank 1"));

  const Report report = report_of(both, {.forward = true, .backward = true, .costs = {}}, "a trace");
  CHECK_FALSE(report.good());
  REQUIRE(report.rows.size() == 5);
  CHECK(report.rows[0].status == Status::kPassed);
  CHECK(report.rows[3].status == Status::kFailed);
  CHECK(report_of(prove_schedule(*cost.forward.trace, problem, {}), {}, "a trace").rows.size() == 4);
}

TEST_CASE("each figure of the closed forms is compared") {
  const Problem problem = make_problem({1, 2, 1, 13, 2}, full_mask(), Layout::kZigzag, 4);
  const Measurement cost = recorded(problem, Schedule::kReversed);
  // A ring in float32 would send half of the bytes and hold half of them.
  const ScheduleProof half =
      prove_schedule(*cost.forward.trace, problem, goal_of(Pass::kForward, Schedule::kReversed, 4));
  CHECK(testing::contains(said(half), "rank 0 sends bytes: "));
  CHECK(testing::contains(said(half), "rank 3 holds at most bytes: "));
  // The other schedule has one more hop of gradients.
  const ScheduleProof other =
      prove_schedule(*cost.backward.trace, problem, goal_of(Pass::kBackward, Schedule::kForward));
  CHECK(testing::contains(said(other), "rank 1 sends messages: 12, and a ring's 14"));
  CHECK(testing::contains(said(other), "dK2 makes 3 hops, and in a ring 4"));
  for (const Violation& violation : other.violations) CHECK(violation.claim == ScheduleClaim::kCosts);
}

}  // namespace ringcraft::verify
