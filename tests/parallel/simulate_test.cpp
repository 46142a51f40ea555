// A simulated run is the run: 8 ranks on fibers with a cost engine against 8 ranks on threads that compute.
#include "ringcraft/parallel/simulate.hpp"

#include "parallel/method_choices.hpp"
#include "ringcraft/comm/fibers/fibers.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// Float32, with times that add up without rounding.
Machine exact_machine() {
  return {.name = "exact",
          .ranks_per_node = 3,
          .peak_flops = 1 << 20,
          .inside = {0x1p-12, 1 << 16},
          .between = {0x1p-10, 1 << 14},
          .element_bytes = 4,
          .accumulator_bytes = 4};
}

void check_pass(const SimulatedPass& simulated, const verify::PassCost& run, const Theory& theory,
                double seconds_per_pair) {
  CHECK(simulated.traffic == run.traffic);
  CHECK(simulated.clock == run.clock);  // exactly
  CHECK(simulated.peak_bytes == run.peak_bytes);
  for (std::size_t r = 0; r < run.work.size(); ++r) {
    CHECK(simulated.pairs[r] == run.work[r].pairs);
    const double computing = seconds_per_pair * theory.heads * static_cast<double>(theory.pairs[r]);
    CHECK(simulated.computing[r] == Approx(computing));
  }
}

bool alike(const TracedMessage& a, const TracedMessage& b) {
  return a.kind == b.kind && a.peer == b.peer && a.bytes.size == b.bytes.size;
}
bool alike_tensor(const TracedTensor& a, const TracedTensor& b) {
  return a.name == b.name && a.access == b.access && a.bytes.size == b.bytes.size;
}

// The events of a pass are those from `first` on, shifted by `begin`; returns where they end.
std::size_t check_events(const RankTrace& simulated, const RankTrace& run, std::size_t first, double begin) {
  int wrong = 0;
  REQUIRE(simulated.events().size() >= first + run.events().size());
  for (std::size_t i = 0; i < run.events().size(); ++i) {
    const TraceEvent &got = simulated.events()[first + i], &want = run.events()[i];
    wrong += got.kind != want.kind || got.pairs != want.pairs || got.live_bytes != want.live_bytes;
    wrong +=
        got.begin.virtual_ != want.begin.virtual_ + begin || got.end.virtual_ != want.end.virtual_ + begin;
    wrong += !std::ranges::equal(got.messages, want.messages, alike);
    wrong += !std::ranges::equal(got.tensors, want.tensors, alike_tensor);
    wrong += got.copied != want.copied;
    if (want.kind == TraceEvent::kWait) wrong += got.waits_for != want.waits_for + first;
  }
  CHECK(wrong == 0);
  return first + run.events().size();
}

void check_simulated(const Problem& problem, const Choice& choice) {
  INFO(described(problem) << ", " << choice.name());
  const Machine machine = exact_machine();
  verify::Measurement run;
  verify::run_over_ranks(
      problem, verify::make_inputs(verify::make_case(problem, verify::Data::kNormal, 7), DType::kFloat32),
      {.options = choice.options,
       .board = {.link_of = [&](int from, int to) { return machine.link(from, to); }},
       .seconds_per_pair = machine.block(problem.shape, Pass::kForward, 0).per_pair,
       .trace = true,
       .method = choice.method},
      &run);
  const Simulation simulated =
      simulate(*choice.method, problem, machine, {.method = choice.options, .trace = TraceDetail::kCopies});
  const auto theory = [&](Pass pass) { return choice.method->theory(problem, choice.options, pass, {4, 4}); };
  const auto per_pair = [&](Pass pass) { return machine.block(problem.shape, pass, 0).per_pair; };
  check_pass(simulated.forward, run.forward, theory(Pass::kForward), per_pair(Pass::kForward));
  check_pass(*simulated.backward, run.backward, theory(Pass::kBackward), per_pair(Pass::kBackward));
  for (int rank = 0; rank < problem.world_size; ++rank) {
    const RankTrace& trace = simulated.trace->rank(rank);
    const std::size_t next = check_events(trace, run.forward.trace->rank(rank), 0, 0);
    CHECK(check_events(trace, run.backward.trace->rank(rank), next, simulated.forward.seconds()) ==
          trace.events().size());
  }
}

// One rank a node, so that all links are alike.
Machine uniform(double flops, double bandwidth) {
  return {.name = "uniform",
          .ranks_per_node = 1,
          .peak_flops = flops,
          .inside = {0, bandwidth},
          .between = {0, bandwidth}};
}

}  // namespace

TEST_CASE("8 simulated ranks are 8 ranks that run: layouts, schedules, masks, ragged lengths") {
  const std::vector<Mask> masks{
      full_mask(), causal_mask(), window_mask(5), {.right = 0, .cu_seqlens = {0, 5, 24, 25, 61}}};
  for (const Layout layout : kLayouts)
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
      for (const Mask& mask : masks)
        for (const Position seqlen : {61, 64}) {
          Mask own = mask;
          if (!own.cu_seqlens.empty()) own.cu_seqlens.back() = seqlen;
          check_simulated(make_problem({1, 4, 2, seqlen, 8}, own, layout, 8),
                          {&kRing, {.schedule = schedule}});
        }
}

TEST_CASE("random problems simulated are random problems run") {
  Random random(171);
  for (int trial = 0; trial < 60; ++trial) {
    const Problem problem = random_problem(random, 8, 40);
    for (const Choice& choice : choices(problem)) check_simulated(problem, choice);
  }
}

TEST_CASE("golden times of formulas F9") {
  // 4 ranks of 256 tokens, 2 heads of 8, one KV head. A block: 4 x 256^2 x 8 x 2 = 2^22 FLOP, backward 2.5
  // times as many. A hop: 2 x 256 x 8 numbers of 2 bytes = 2^13; of gradients 2^14.
  const Problem full = make_problem({1, 2, 1, 1024, 8}, full_mask(), Layout::kContiguous, 4);
  const auto times = [&](const Machine& machine, Schedule schedule) {
    const Simulation s = simulate(kRing, full, machine, {.method = {.schedule = schedule}});
    return std::pair{s.forward.seconds(), s.backward->seconds()};
  };
  // Tc = 4 s, Tkv = 1 s: Tc + 3 max(Tc, Tkv) = 16; backward 4 x 10 = 40, and one dKV hop of 2 s for schedule
  // forward.
  const Machine computes = uniform(1 << 20, 1 << 13);
  CHECK(times(computes, Schedule::kReversed) == std::pair{16.0, 40.0});
  CHECK(times(computes, Schedule::kForward) == std::pair{16.0, 42.0});
  // Tc = 4 s, Tkv = 16 s: 4 + 3 x 16 = 52.
  CHECK(times(uniform(1 << 20, 1 << 9), Schedule::kReversed).first == 52);
  // Half of the efficiency is twice the time.
  Machine half = computes;
  half.efficiency = 0.5;
  CHECK(times(half, Schedule::kReversed) == std::pair{32.0, 80.0});
}

TEST_CASE("one slow rank, one slow link") {
  const Problem full = make_problem({1, 2, 1, 1024, 8}, full_mask(), Layout::kContiguous, 4);
  const auto forward = [&](const Machine& machine) {
    return simulate(kRing, full, machine, {.last = Pass::kForward}).forward;
  };
  Machine machine = uniform(1 << 20, 1 << 13);
  machine.slow_ranks = {{2, 2}};
  const SimulatedPass slow_rank = forward(machine);
  CHECK(slow_rank.seconds() == 32);  // it computes 4 x 8 s
  CHECK(slow_rank.slowest() == 2);
  CHECK(slow_rank.exposed() == 1 - (32.0 + 3 * 16) / (4 * 32));
  machine.slow_ranks.clear();
  machine.slow_links = {{2, 1, 16}};
  CHECK(forward(machine).seconds() == 4 + 3 * 16);  // every block crosses it once
  machine.slow_links = {{1, 3, 16}};
  CHECK(forward(machine).seconds() == 16);  // nobody uses it
}

TEST_CASE("a machine that is none is refused, and so are ranks that it has not") {
  const Problem problem = make_problem({.seqlen = 16, .head_dim = 4}, causal_mask(), Layout::kZigzag, 2);
  const auto refused = [&](auto change, const char* sentence) {
    Machine machine = uniform(1, 1);
    change(machine);
    check_refused([&] { simulate(kRing, problem, machine); }, sentence);
  };
  refused([](Machine& m) { m.peak_flops = 0; }, "machine: peak_flops: expected a number above 0");
  refused([](Machine& m) { m.efficiency = 1.5; }, "machine: efficiency: expected above 0, at most 1");
  refused([](Machine& m) { m.ranks_per_node = 0; }, "machine: ranks_per_node: expected at least 1");
  refused([](Machine& m) { m.between.bandwidth = 0; }, "machine: between.bandwidth");
  refused([](Machine& m) { m.inside.latency = -1; }, "machine: inside.latency");
  refused([](Machine& m) { m.element_bytes = 3; }, "machine: element_bytes: expected 2, 4 or 8");
  refused([](Machine& m) { m.accumulator_bytes = 2; }, "machine: accumulator_bytes: expected 4 or 8");
  refused(
      [](Machine& m) {
        m.slow_links = {{0, 2, 2}};
      },
      "slow link: expected ranks of 0 to 1, got rank 2");
  refused(
      [](Machine& m) {
        m.slow_links = {{1, 1, 2}};
      },
      "slow link: expected two ranks, got rank 1 twice");
  refused([](Machine& m) { m.slow_ranks = {{0, 0}}; }, "factor of a slow rank: expected a number above 0");
  refused([](Machine& m) { m.slow_ranks = {{2, 2}}; }, "slow rank: expected ranks of 0 to 1, got rank 2");
  refused([](Machine& m) { m.slow_links = {{0, 1, 0}}; }, "factor of a slow link: expected a number above 0");
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  refused([](Machine& m) { m.peak_flops = kInfinite; }, "machine: peak_flops: expected a number above 0");
  for (const Machine& machine : known_machines()) CHECK_NOTHROW(validate(machine, 1));
  CHECK(known_machine("8xH100") != nullptr);
  CHECK(known_machine("abacus") == nullptr);
}

TEST_CASE("a simulation refuses what its method refuses, and times beyond all machines") {
  const Problem problem = make_problem({.seqlen = 16, .head_dim = 4}, causal_mask(), Layout::kZigzag, 2);
  check_refused([&] { simulate(kHybrid, problem, uniform(1, 1)); },
                "ulysses: expected a number that divides");
  const char* const too_slow = "machine: expected speeds that take less than 1e15 seconds";
  check_refused([&] { simulate(kRing, problem, uniform(1e-320, 1)); }, too_slow);
  check_refused([&] { simulate(kRing, problem, uniform(1, 5e-324)); }, too_slow);
  check_refused([&] { simulate(kRing, problem, uniform(1, 1e-300), {.trace = TraceDetail::kPairs}); },
                too_slow);
  Machine machine = uniform(1, 1);
  machine.slow_ranks = {{1, 1e308}};
  check_refused([&] { simulate(kRing, problem, machine); }, too_slow);
}

TEST_CASE("a machine by hand: nodes, ports, slow links and ranks, and the time of a pair") {
  Machine machine = exact_machine();  // nodes of three ranks
  CHECK(machine.same_node(0, 2));
  CHECK_FALSE(machine.same_node(2, 3));  // neighbours
  CHECK(machine.link(0, 2).beta == 1 << 16);
  CHECK(machine.link(2, 3).beta == 1 << 14);
  CHECK(machine.link(0, 2).port == machine.link(1, 0).port);
  CHECK(machine.link(0, 2).port != machine.link(0, 3).port);  // they share no bandwidth
  machine.slow_links = {{2, 3, 4}, {3, 2, 2}};
  CHECK(machine.link(2, 3).beta == 1 << 11);
  CHECK(machine.link(3, 2).beta == 1 << 11);
  machine.slow_ranks = {{1, 2}, {1, 4}};
  const Shape shape{.batch = 2, .heads = 4, .kv_heads = 2, .seqlen = 8, .head_dim = 16};
  // 2 products of 16 numbers, 2 FLOP each, for 4 heads of 2 sequences.
  CHECK(machine.block(shape, Pass::kForward, 0).per_pair == 2.0 * 2 * 16 * 4 * 2 / (1 << 20));
  CHECK(machine.block(shape, Pass::kBackward, 1).per_pair == 8 * 2.5 * 2 * 2 * 16 * 4 * 2 / (1 << 20));
}

TEST_CASE("a simulation counts its work while it runs") {
  const Problem problem = make_problem({.seqlen = 16, .head_dim = 4}, causal_mask(), Layout::kZigzag, 2);
  std::atomic<Index> done = 0;
  simulate(kRing, problem, uniform(1, 1), {.done = &done});
  CHECK(done == (2 + 5) * 16 * 17 / 2);
}
