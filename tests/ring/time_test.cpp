// Virtual time of the rings: the closed forms for even work, a max-plus model of the schedules for any work,
// and known clocks; all of it under every delivery seed.
#include <algorithm>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/ring/messages.hpp"
#include "ringcraft/ring/theory.hpp"
#include "support/catch.hpp"
#include "support/cost_engine.hpp"
#include "support/predicate.hpp"
#include "support/random_problem.hpp"
#include "support/ring_arguments.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Clocks = std::vector<double>;

Clocks forward_clocks(const Problem& p, Cost cost, LinkCost link, std::uint64_t seed) {
  return run_ranks(p.world_size,
                   [&](ThreadCommunicator& comm) {
                     CostEngine engine(comm, cost);
                     const ForwardArguments a(engine, p, comm.rank());
                     ring_forward(comm, engine, p, a.q, a.kv);
                   },
                   {.delivery_seed = seed, .link = link})
      .clock;
}

Clocks backward_clocks(const Problem& p, Schedule schedule, Cost cost, LinkCost link, std::uint64_t seed) {
  return run_ranks(p.world_size,
                   [&](ThreadCommunicator& comm) {
                     CostEngine engine(comm, cost);
                     const BackwardArguments a(engine, p, schedule, comm.rank());
                     ring_backward(comm, engine, p, schedule, a.q, a.first, a.own, a.output, a.dout);
                   },
                   {.delivery_seed = seed, .link = link})
      .clock;
}

// The schedules as recurrences over the clocks of all ranks.
class Model {
 public:
  Model(const Problem& p, Cost cost, LinkCost link)
      : p_(p),
        cost_(cost),
        link_(link),
        pairs_(counted_pairs(p.mask, p.sharding())),
        hops_(counted_hops(pairs_)) {}

  Clocks forward() const {
    const auto messages = ring_messages(p_, Pass::kForward, Schedule::kForward);
    Clocks clock(ranks(), 0.0);
    for (int t = 0; t <= hops_; ++t) {
      const Clocks post = clock;
      for (int r = 0; r < p_.world_size; ++r) at(clock, r) += compute(r, t);
      wait(clock, post, messages, t, RingTransfer::kBlock);
    }
    return clock;
  }

  Clocks backward(Schedule schedule) const {
    const auto messages = ring_messages(p_, Pass::kBackward, schedule);
    Clocks clock(ranks(), 0.0), gradients_posted;
    for (int step = 0; step <= hops_; ++step) {
      const Clocks post = clock;
      for (int r = 0; r < p_.world_size; ++r)
        at(clock, r) += compute(r, schedule == Schedule::kForward ? step : hops_ - step);
      if (step > 0) wait(clock, gradients_posted, messages, step - 1, RingTransfer::kSum);
      wait(clock, post, messages, step, RingTransfer::kBlock);
      gradients_posted = clock;
    }
    wait(clock, gradients_posted, messages, hops_, RingTransfer::kSum);
    return clock;
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(p_.world_size); }
  double& at(Clocks& clocks, int r) const { return clocks[static_cast<std::size_t>(r)]; }
  double at(const Clocks& clocks, int r) const { return clocks[static_cast<std::size_t>(r)]; }

  double compute(int rank, int t) const {
    const Index pairs = pairs_[static_cast<std::size_t>(t)][static_cast<std::size_t>(rank)];
    return pairs == 0 ? 0 : cost_.per_block + cost_.per_pair * static_cast<double>(pairs);
  }

  // Both ends of the messages of a step go on when they are complete, bf16 blocks and float32 sums.
  void wait(Clocks& clock, const Clocks& posted, const std::vector<RingTransfer>& messages, int step,
            RingTransfer::What what) const {
    for (const RingTransfer& m : messages) {
      if (m.step != step || m.what != what) continue;
      const double end = std::max(at(posted, m.from), at(posted, m.to)) + link_.alpha +
                         static_cast<double>(bytes_of(m, {2, 4})) / link_.beta;
      for (const int r : {m.from, m.to}) at(clock, r) = std::max(at(clock, r), end);
    }
  }

  const Problem& p_;
  Cost cost_;
  LinkCost link_;
  std::vector<std::vector<Index>> pairs_;
  int hops_;
};

void check_close(const Clocks& got, const Clocks& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t r = 0; r < got.size(); ++r) CHECK(std::abs(got[r] - want[r]) <= 1e-9);
}

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
    const Cost cost{.per_block = g.time.compute};
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
  for (int trial = 0; trial < 80; ++trial) {
    const Problem p = random_problem(random, 6, 30);
    const Cost cost{.per_block = static_cast<double>(random.integer(0, 3)),
                    .per_pair = static_cast<double>(random.integer(0, 2))};
    const LinkCost link{.alpha = static_cast<double>(random.integer(0, 4)),
                        .beta = static_cast<double>(random.integer(8, 400))};
    INFO(described(p));
    const Model model(p, cost, link);
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      check_close(forward_clocks(p, cost, link, seed), model.forward());
      for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
        check_close(backward_clocks(p, schedule, cost, link, seed), model.backward(schedule));
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
