// Many interleavings of one small ring, and of one deadlock: small enough for the thread sanitizer, which
// must stay silent over all of them.
#include <vector>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/ring/ring.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"
#include "support/tensors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

constexpr std::uint64_t kSeeds = 200;

struct Result {
  Output output;
  RingGradients gradients;
};

std::vector<Result> run(const Problem& p, const Tensors& whole, Schedule schedule, std::uint64_t seed) {
  std::vector<Result> results(static_cast<std::size_t>(p.world_size));
  run_ranks(
      p.world_size,
      [&](ThreadCommunicator& comm) {
        HostEngine<double> engine;
        const Tensors mine = shard_of(whole, p, comm.rank());
        RingOutput forward = ring_forward(comm, engine, p, mine.q, mine.kv);
        const KvBlock& first = schedule == Schedule::kReversed ? forward.last : mine.kv;
        RingGradients gradients =
            ring_backward(comm, engine, p, schedule, mine.q, first, mine.kv, forward.output, mine.dout);
        results[static_cast<std::size_t>(comm.rank())] = {std::move(forward.output), std::move(gradients)};
      },
      {.delivery_seed = seed});
  return results;
}

}  // namespace

TEST_CASE("a causal zig-zag ring under 200 delivery seeds") {
  Random random(161);
  const Problem p = make_problem({.heads = 2, .kv_heads = 1, .seqlen = 11, .head_dim = 2}, causal_mask(),
                                 Layout::kZigzag, 4);
  const Tensors whole = random_tensors(p.shape, DType::kFloat64, random);
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
    const std::vector<Result> expected = run(p, whole, schedule, 0);
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      CAPTURE(seed);
      const std::vector<Result> results = run(p, whole, schedule, seed);
      for (std::size_t r = 0; r < results.size(); ++r) {
        CHECK(identical(results[r].output.out, expected[r].output.out));
        CHECK(identical(results[r].output.lse, expected[r].output.lse));
        CHECK(identical(results[r].gradients.dq, expected[r].gradients.dq));
        CHECK(identical(results[r].gradients.dkv.k, expected[r].gradients.dkv.k));
        CHECK(identical(results[r].gradients.dkv.v, expected[r].gradients.dkv.v));
      }
    }
  }
}

TEST_CASE("a deadlock under 200 delivery seeds") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Outcome outcome = outcome_of([&] {
      run_ranks(3,
                [](ThreadCommunicator& comm) {
                  const Bytes out = message_of(comm.rank(), 8);
                  Bytes in(8);
                  exchange_odd_even(
                      comm, {(comm.rank() + 1) % 3, out, (comm.rank() + 2) % 3, in});  // some traffic first
                  exchange_all_send_first(comm, {(comm.rank() + 1) % 3, out, (comm.rank() + 2) % 3, in});
                },
                {.delivery_seed = seed});
    });
    CHECK(outcome.code == Code::kWrongAnswer);
    CHECK(outcome.sentence.rfind("deadlock: ", 0) == 0);
    CHECK(count_of(outcome.sentence, " waits to send 8 bytes to ") == 3);
  }
}

TEST_CASE("a rank that throws under 200 delivery seeds") {
  Random random(162);
  const Problem p = make_problem({.seqlen = 8, .head_dim = 2}, full_mask(), Layout::kStriped, 4);
  const Tensors whole = random_tensors(p.shape, DType::kFloat64, random);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Outcome outcome = outcome_of([&] {
      run_ranks(4,
                [&](ThreadCommunicator& comm) {
                  HostEngine<double> engine;
                  const Tensors mine = shard_of(whole, p, comm.rank());
                  const RingOutput forward = ring_forward(comm, engine, p, mine.q, mine.kv);
                  if (comm.rank() == 2) throw Error("the cause");
                  ring_backward(comm, engine, p, Schedule::kForward, mine.q, mine.kv, mine.kv, forward.output,
                                mine.dout);
                },
                {.delivery_seed = seed});
    });
    CHECK(outcome.sentence == "the cause");
  }
}
