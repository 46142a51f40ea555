// Measured beside theory: bytes, messages, pairs and peak memory of real runs equal the closed forms on every
// rank.
#include <functional>
#include <memory>
#include <vector>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/parallel/cost_engine.hpp"
#include "ringcraft/ring/route.hpp"
#include "ringcraft/ring/theory.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/ring_arguments.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

struct EngineMaker {
  std::function<std::unique_ptr<BlockEngine>(ThreadCommunicator&)> make;
  std::function<void(const Delivery&)> carry = {};
};

const std::vector<EngineMaker> kEngines{
    {[](ThreadCommunicator& comm) { return std::make_unique<CostEngine>(comm, BlockCost{}); }, carry_nothing},
    {[](ThreadCommunicator&) {
      return std::make_unique<HostEngine<double>>(TileSize{5, 3});
    }},
    {[](ThreadCommunicator&) { return std::make_unique<HostEngine<float>>(); }}};

struct Measured {
  RanksReport report;
  std::vector<Work> work;
  RoleBytes bytes{};
};

// Runs body(comm, engine) on every rank; what the body allocates is on the rank's meter.
Measured measure(const Problem& p, const EngineMaker& engines,
                 const std::function<void(ThreadCommunicator&, BlockEngine&)>& body) {
  Measured m;
  m.work.resize(static_cast<std::size_t>(p.world_size));
  m.report = run_ranks(p.world_size,
                       [&](ThreadCommunicator& comm) {
                         const auto engine = engines.make(comm);
                         body(comm, *engine);
                         m.work[static_cast<std::size_t>(comm.rank())] = engine->work();
                         if (comm.rank() == 0) m.bytes = role_bytes(*engine);
                       },
                       {.delivery_seed = 1, .carry = engines.carry});
  return m;
}

Measured measure_forward(const Problem& p, const EngineMaker& engines) {
  return measure(p, engines, [&](ThreadCommunicator& comm, BlockEngine& engine) {
    const ForwardArguments a(engine, p, comm.rank());
    ring_forward(comm, engine, p, a.q, a.kv);
  });
}

Measured measure_backward(const Problem& p, Schedule schedule, const EngineMaker& engines) {
  return measure(p, engines, [&](ThreadCommunicator& comm, BlockEngine& engine) {
    const BackwardArguments a(engine, p, schedule, comm.rank());
    ring_backward(comm, engine, p, schedule, a.q, a.first, a.own, a.output, a.dout);
  });
}

void check_equal(const Measured& measured, const Theory& theory) {
  Index sent = 0, received = 0;
  for (std::size_t r = 0; r < theory.pairs.size(); ++r) {
    CAPTURE(r);
    CHECK(measured.report.traffic[r].bytes_sent == theory.bytes_sent[r]);
    CHECK(measured.report.traffic[r].messages_sent == theory.messages_sent[r]);
    CHECK(measured.report.peak_bytes[r] == theory.peak_bytes[r]);
    CHECK(measured.work[r].pairs == theory.pairs[r]);
    sent += measured.report.traffic[r].bytes_sent;
    received += measured.report.traffic[r].bytes_received;
  }
  CHECK(sent == received);
}

}  // namespace

TEST_CASE("traffic, work and memory of random rings equal theory") {
  Random random(131);
  int ragged = 0, hopless = 0;
  for (int trial = 0; trial < 120; ++trial) {
    const Problem p = random_problem(random, 7, 30);
    ragged += p.shape.seqlen % p.world_size != 0;
    hopless += hops(p) == 0;
    INFO(described(p));
    const EngineMaker& engines = kEngines[static_cast<std::size_t>(trial) % kEngines.size()];
    const Measured forward = measure_forward(p, engines);
    check_equal(forward, forward_theory(p, forward.bytes));
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
      check_equal(measure_backward(p, schedule, engines), backward_theory(p, schedule, forward.bytes));
  }
  CHECK(ragged > 40);
  CHECK(hopless > 5);
}

TEST_CASE("peak elements of a small ring, measured") {
  // Host engine in double: 8 bytes for every element.
  const Problem p =
      make_problem({.heads = 8, .kv_heads = 2, .seqlen = 16, .head_dim = 4}, {}, Layout::kZigzag, 4);
  CHECK(measure_forward(p, kEngines[1]).report.peak_bytes == std::vector<Index>(4, 512 * 8));
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    CHECK(measure_backward(p, schedule, kEngines[1]).report.peak_bytes == std::vector<Index>(4, 960 * 8));
}

TEST_CASE("a whole training step holds no more than its passes") {
  // Forward, then the reversed backward from the block that the forward held last, the own k and v given up
  // where the ring brings them home.
  Random random(132);
  for (int trial = 0; trial < 40; ++trial) {
    const Problem p = random_problem(random, 6, 30);
    INFO(described(p));
    const Measured step = measure(p, kEngines[0], [&](ThreadCommunicator& comm, BlockEngine& engine) {
      ForwardArguments a(engine, p, comm.rank());
      RingOutput forward = ring_forward(comm, engine, p, a.q, a.kv);
      KvBlock own;
      if (Route(p, comm.rank(), Schedule::kReversed).keeps_own()) own = std::move(a.kv);
      if (hops(p) > 0) a.kv = std::move(forward.last);
      const Buffer dout = engine.allocate(p.q_extents(comm.rank()), Role::kElement);
      ring_backward(comm, engine, p, Schedule::kReversed, a.q, a.kv, own, forward.output, dout);
    });
    const Theory forward = forward_theory(p, step.bytes),
                 backward = backward_theory(p, Schedule::kReversed, step.bytes);
    for (std::size_t r = 0; r < forward.pairs.size(); ++r) {
      CHECK(step.report.peak_bytes[r] == std::max(forward.peak_bytes[r], backward.peak_bytes[r]));
      CHECK(step.report.traffic[r].bytes_sent == forward.bytes_sent[r] + backward.bytes_sent[r]);
    }
  }
}

TEST_CASE("a causal contiguous ring sends the blocks that are computed with, and no other") {
  const Problem p = make_problem({.seqlen = 16, .head_dim = 1}, causal_mask(), Layout::kContiguous, 4);
  const Measured m = measure_forward(p, kEngines[0]);
  Index blocks = 0, messages = 0;
  for (const Work& work : m.work) blocks += work.blocks;
  for (const Traffic& traffic : m.report.traffic) messages += traffic.messages_sent;
  CHECK(blocks - 4 == 6);  // beside the own blocks
  CHECK(messages == 2 * 6);
}
