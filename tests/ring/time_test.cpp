// Virtual time of the rings: the closed forms for even work, the clocks that are foretold for any work, and
// known clocks; all of it under every delivery seed.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/parallel/cost_engine.hpp"
#include "ringcraft/ring/theory.hpp"
#include "ringcraft/ring/timed_ring.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/ring_arguments.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Clocks = std::vector<double>;

Clocks forward_clocks(const Problem& p, BlockCost cost, LinkCost link, std::uint64_t seed) {
  return run_ranks(p.world_size,
                   [&](ThreadCommunicator& comm) {
                     CostEngine engine(comm, cost);
                     const ForwardArguments a(engine, p, comm.rank());
                     ring_forward(comm, engine, p, a.q, a.kv);
                   },
                   {.delivery_seed = seed, .link = link, .carry = carry_nothing})
      .clock;
}

Clocks backward_clocks(const Problem& p, Schedule schedule, BlockCost cost, LinkCost link,
                       std::uint64_t seed) {
  return run_ranks(p.world_size,
                   [&](ThreadCommunicator& comm) {
                     CostEngine engine(comm, cost);
                     const BackwardArguments a(engine, p, schedule, comm.rank());
                     ring_backward(comm, engine, p, schedule, a.q, a.first, a.own, a.output, a.dout);
                   },
                   {.delivery_seed = seed, .link = link, .carry = carry_nothing})
      .clock;
}

// The same without a run: bf16 blocks and float32 sums.
RingClocks foretold(const Problem& p, Pass pass, Schedule schedule, BlockCost cost, LinkCost link) {
  return ring_clocks(timed_ring(p, pass, schedule, {2, 4}, cost, link));
}

double relative(double got, double want) { return std::abs(got - want) / std::max(1.0, std::abs(want)); }

void check_close(const Clocks& got, const Clocks& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t r = 0; r < got.size(); ++r) CHECK(relative(got[r], want[r]) <= 1e-12);
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }

double latest(const Clocks& clocks) { return *std::max_element(clocks.begin(), clocks.end()); }

}  // namespace

TEST_CASE("the schedules take the time of their closed forms, on every rank") {
  struct Golden {
    int n;
    StepTime time;
    double forward, backward_forward, backward_reversed;
  };
  // float32 gradients are twice the bytes of bf16 blocks, so Tdkv = 2 Tkv when only bytes cost.
  for (const Golden& g :
       {Golden{4, {3, 1, 2}, 12, 14, 12}, Golden{8, {5, 2, 4}, 40, 44, 40}, Golden{1, {3, 1, 2}, 3, 3, 3},
        Golden{2, {3, 1, 2}, 6, 8, 6}, Golden{3, {2, 1, 2}, 6, 8, 6}, Golden{5, {7, 2, 4}, 35, 39, 35}}) {
    const Problem p = make_problem({.batch = 2, .heads = 4, .kv_heads = 2, .seqlen = 6 * g.n, .head_dim = 8},
                                   {}, Layout::kZigzag, g.n);
    const double block_bytes = 2 * 2 * 2 * 6 * 8 * 2;
    const LinkCost link{.beta = block_bytes / g.time.kv_transfer};
    const BlockCost cost{.per_block = g.time.compute};
    const auto ranks = static_cast<std::size_t>(g.n);
    CHECK(forward_time(g.n - 1, g.time) == g.forward);
    CHECK(backward_time(g.n - 1, Schedule::kForward, g.time) == g.backward_forward);
    CHECK(backward_time(g.n - 1, Schedule::kReversed, g.time) == g.backward_reversed);
    for (std::uint64_t seed = 0; seed <= 20; ++seed) {
      CAPTURE(g.n, seed);
      check_close(forward_clocks(p, cost, link, seed), Clocks(ranks, g.forward));
      check_close(backward_clocks(p, Schedule::kForward, cost, link, seed),
                  Clocks(ranks, g.backward_forward));
      check_close(backward_clocks(p, Schedule::kReversed, cost, link, seed),
                  Clocks(ranks, g.backward_reversed));
    }
  }
}

TEST_CASE("a forward ring whose transfers take longer than its blocks") {
  for (const double transfer : {0.5, 3.0, 4.0, 10.0}) {
    const Problem p = make_problem({.seqlen = 20, .head_dim = 4}, {}, Layout::kContiguous, 5);
    const Clocks clocks = forward_clocks(p, {.per_block = 3}, {.alpha = transfer}, 7);
    check_close(clocks, Clocks(5, forward_time(4, {3, transfer, 0})));
  }
}

TEST_CASE("clocks of the causal forward ring, one second per pair, free transfers") {
  const auto clocks = [](Layout layout, std::uint64_t seed) {
    const Problem p = make_problem({.seqlen = 16, .head_dim = 2}, causal_mask(), layout, 4);
    return forward_clocks(p, {.per_pair = 1}, {}, seed);
  };
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    CHECK(clocks(Layout::kContiguous, seed) == Clocks{10, 26, 42, 58});
    CHECK(clocks(Layout::kStriped, seed) == Clocks{28, 32, 36, 40});
    CHECK(clocks(Layout::kZigzag, seed) == Clocks(4, 34));
    CHECK(clocks(Layout::kZigzagToken, seed) == Clocks(4, 34));
  }
}

TEST_CASE("virtual time of random rings follows the schedules, in any order of delivery") {
  Random random(141);
  for (int trial = 0; trial < 120; ++trial) {
    const Problem p = random_problem(random, 8, 30);
    const BlockCost cost{.per_block = random.uniform() * static_cast<double>(random.integer(0, 3)),
                         .per_pair = random.uniform() * static_cast<double>(random.integer(0, 2))};
    const LinkCost link{.alpha = random.uniform() * static_cast<double>(random.integer(0, 4)),
                        .beta = static_cast<double>(random.integer(8, 400))};
    INFO(described(p));
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      check_close(forward_clocks(p, cost, link, seed),
                  foretold(p, Pass::kForward, Schedule::kForward, cost, link).ends);
      for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
        check_close(backward_clocks(p, schedule, cost, link, seed),
                    foretold(p, Pass::kBackward, schedule, cost, link).ends);
    }
  }
}

TEST_CASE("foretold clocks of equal steps are the closed forms, and their waits what computing leaves") {
  for (const int n : {1, 2, 3, 5, 8})
    for (const double kv : {0.25, 0.5, 1.0, 2.5}) {
      CAPTURE(n, kv);
      const Problem p = make_problem({.seqlen = 4 * n, .head_dim = 4}, {}, Layout::kContiguous, n);
      const StepTime time{1, kv, 2 * kv};
      const LinkCost link{.beta = 2 * 4 * 4 * 2 / kv};
      const RingClocks forward = foretold(p, Pass::kForward, Schedule::kForward, {.per_block = 1}, link);
      check_close(forward.ends, Clocks(at(n), forward_time(n - 1, time)));
      REQUIRE(forward.steps.size() == at(n));
      CHECK(forward.steps.back() == forward.ends);
      for (int step = 0; step < n; ++step)
        check_close(forward.steps[at(step)],
                    Clocks(at(n), step + 1 < n ? (step + 1) * std::max(1.0, kv) : forward.ends.front()));
      check_close(forward.exposed, Clocks(at(n), forward.ends.front() - n));
      if (kv > 0.5) continue;  // beyond, the computation does not hide the sums
      for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
        const RingClocks backward = foretold(p, Pass::kBackward, schedule, {.per_block = 1}, link);
        check_close(backward.ends, Clocks(at(n), backward_time(n - 1, schedule, time)));
        check_close(backward.exposed, Clocks(at(n), backward.ends.front() - n));
      }
    }
}

TEST_CASE("the reversed schedule is never slower when work is even") {
  for (const int n : {2, 3, 4, 6})
    for (const double alpha : {0.0, 1.0, 3.0, 9.0}) {
      const Problem p = make_problem({.seqlen = 4 * n, .head_dim = 4}, causal_mask(), Layout::kZigzag, n);
      const LinkCost link{.alpha = alpha};
      const double forward = latest(backward_clocks(p, Schedule::kForward, {.per_pair = 0.5}, link, 5));
      const double reversed = latest(backward_clocks(p, Schedule::kReversed, {.per_pair = 0.5}, link, 5));
      CAPTURE(n, alpha);
      CHECK(reversed <= forward);
      if (alpha > 0) CHECK(reversed < forward);
    }
}
