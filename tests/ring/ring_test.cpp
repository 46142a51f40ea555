// The rings as a whole: values against one device, arguments untouched, repeatable, one result under every
// seed.
#include "ringcraft/ring/ring.hpp"

#include <vector>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/attention/single_device.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/ring/route.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/random_problem.hpp"
#include "support/tensors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

struct Run {
  std::vector<RingOutput> forward;
  std::vector<RingGradients> backward;
};

// Forward and backward on all ranks; the reversed schedule starts from the block that the forward held last.
Run run(const Problem& p, const Tensors& whole, Schedule schedule, std::uint64_t seed) {
  Run result;
  result.forward.resize(static_cast<std::size_t>(p.world_size));
  result.backward.resize(static_cast<std::size_t>(p.world_size));
  run_ranks(p.world_size,
            [&](ThreadCommunicator& comm) {
              const auto r = static_cast<std::size_t>(comm.rank());
              HostEngine<double> engine({4, 3});
              const Tensors mine = shard_of(whole, p, comm.rank());
              RingOutput& forward = result.forward[r] = ring_forward(comm, engine, p, mine.q, mine.kv);
              const bool from_last = schedule == Schedule::kReversed && hops(p) > 0;
              result.backward[r] =
                  ring_backward(comm, engine, p, schedule, mine.q, from_last ? forward.last : mine.kv,
                                mine.kv, forward.output, mine.dout);
            },
            {.delivery_seed = seed});
  return result;
}

bool identical_runs(const Run& a, const Run& b) {
  bool same = true;
  for (std::size_t r = 0; r < a.forward.size(); ++r)
    same = same && identical(a.forward[r].output.out, b.forward[r].output.out) &&
           identical(a.forward[r].output.lse, b.forward[r].output.lse) &&
           identical(a.backward[r].dq, b.backward[r].dq) &&
           identical(a.backward[r].dkv.k, b.backward[r].dkv.k) &&
           identical(a.backward[r].dkv.v, b.backward[r].dkv.v);
  return same;
}

}  // namespace

TEST_CASE("both schedules agree with one device and with each other") {
  Random random(151);
  for (int trial = 0; trial < 80; ++trial) {
    const Problem p = random_problem(random, 8, 32);
    INFO(described(p));
    const Sharding sharding = p.sharding();
    const Tensors whole = random_tensors(p.shape, DType::kFloat64, random);
    const KeyRanges ranges = key_ranges(p.mask, p.shape.seqlen);
    const Output expected = attention_forward(Algorithm::kDense, whole.q, whole.kv, ranges, p.softmax_scale);
    const Gradients gradients = attention_backward(Algorithm::kDense, whole.q, whole.kv, expected, whole.dout,
                                                   ranges, p.softmax_scale);
    const Run forward = run(p, whole, Schedule::kForward, static_cast<std::uint64_t>(trial));
    const Run reversed = run(p, whole, Schedule::kReversed, static_cast<std::uint64_t>(trial));
    for (int rank = 0; rank < p.world_size; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      CHECK(difference(forward.forward[r].output.out, scatter(expected.out, sharding, rank)) <= 1e-13);
      CHECK(difference(forward.forward[r].output.lse, scatter(expected.lse, sharding, rank)) <= 1e-13);
      for (const Run* result : {&forward, &reversed}) {
        CHECK(difference(result->backward[r].dq, scatter(gradients.dq, sharding, rank)) <= 1e-12);
        CHECK(difference(result->backward[r].dkv.k, scatter(gradients.dkv.k, sharding, rank)) <= 1e-12);
        CHECK(difference(result->backward[r].dkv.v, scatter(gradients.dkv.v, sharding, rank)) <= 1e-12);
      }
    }
  }
}

TEST_CASE("the forward ring returns the block that it held last") {
  Random random(152);
  for (int trial = 0; trial < 60; ++trial) {
    const Problem p = random_problem(random, 7, 24);
    INFO(described(p));
    const Tensors whole = random_tensors(p.shape, DType::kFloat64, random);
    const Run result = run(p, whole, Schedule::kForward, 2);
    for (int rank = 0; rank < p.world_size; ++rank) {
      const KvBlock& last = result.forward[static_cast<std::size_t>(rank)].last;
      const Route route(p, rank, Schedule::kForward);
      if (hops(p) == 0) {
        CHECK(last.k.extents() == Extents{});
      } else if (!route.here(hops(p))) {
        CHECK(last.k.empty());
        CHECK(last.v.empty());
      } else {
        const Tensors expected = shard_of(whole, p, (rank - hops(p) + p.world_size) % p.world_size);
        CHECK(identical(last.k, expected.kv.k));
        CHECK(identical(last.v, expected.kv.v));
      }
    }
  }
}

TEST_CASE("no argument is written, and backward can be repeated") {
  Random random(153);
  for (const int n : {1, 2, 3, 4, 5})
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
      for (const Layout layout : {Layout::kContiguous, Layout::kZigzag}) {
        const Problem p =
            make_problem({.batch = 2, .heads = 4, .kv_heads = 2, .seqlen = 4 * n + 1, .head_dim = 3},
                         causal_mask(), layout, n);
        INFO(described(p));
        const Tensors whole = random_tensors(p.shape, DType::kFloat64, random);
        std::vector<int> changed(static_cast<std::size_t>(n)), different(static_cast<std::size_t>(n));
        run_ranks(n,
                  [&](ThreadCommunicator& comm) {
                    const auto r = static_cast<std::size_t>(comm.rank());
                    HostEngine<double> engine;
                    const Tensors mine = shard_of(whole, p, comm.rank()),
                                  before = shard_of(whole, p, comm.rank());
                    const RingOutput forward = ring_forward(comm, engine, p, mine.q, mine.kv);
                    changed[r] += !identical(mine.q, before.q) + !identical(mine.kv.k, before.kv.k) +
                                  !identical(mine.kv.v, before.kv.v);
                    const KvBlock& first = schedule == Schedule::kReversed && n > 1 ? forward.last : mine.kv;
                    const KvBlock first_before = clone(first);
                    const Output output_before = clone(forward.output);
                    const auto backward = [&] {
                      return ring_backward(comm, engine, p, schedule, mine.q, first, mine.kv, forward.output,
                                           mine.dout);
                    };
                    const RingGradients once = backward(), again = backward();
                    changed[r] += !identical(mine.q, before.q) + !identical(mine.dout, before.dout) +
                                  !identical(mine.kv.k, before.kv.k) + !identical(mine.kv.v, before.kv.v) +
                                  !identical(first.k, first_before.k) + !identical(first.v, first_before.v) +
                                  !identical(forward.output.out, output_before.out) +
                                  !identical(forward.output.lse, output_before.lse);
                    different[r] += !identical(once.dq, again.dq) + !identical(once.dkv.k, again.dkv.k) +
                                    !identical(once.dkv.v, again.dkv.v);
                  },
                  {.delivery_seed = 4});
        CHECK(changed == std::vector<int>(static_cast<std::size_t>(n), 0));
        CHECK(different == std::vector<int>(static_cast<std::size_t>(n), 0));
      }
}

TEST_CASE("results are bitwise the same under every delivery seed") {
  Random random(154);
  for (int trial = 0; trial < 10; ++trial) {
    const Problem p = random_problem(random, 6, 24);
    INFO(described(p));
    const Tensors whole = random_tensors(p.shape, DType::kFloat64, random);
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
      const Run expected = run(p, whole, schedule, 0);
      for (std::uint64_t seed = 1; seed <= 12; ++seed)
        CHECK(identical_runs(run(p, whole, schedule, seed), expected));
    }
  }
}

TEST_CASE("key sums of the gradients vanish as they must") {
  // Sum over all keys of dk is zero where every row sees a key, and sum over keys of dv is the sum over rows
  // of dout.
  Random random(155);
  const Problem p = make_problem({.heads = 2, .kv_heads = 1, .seqlen = 13, .head_dim = 3}, causal_mask(),
                                 Layout::kZigzagToken, 4);
  const Tensors whole = random_tensors(p.shape, DType::kFloat64, random);
  const Run result = run(p, whole, Schedule::kReversed, 0);
  for (std::size_t c = 0; c < 3; ++c) {
    double dk = 0, dv = 0, dout = 0;
    for (const RingGradients& g : result.backward)
      for (std::size_t at = c; at < g.dkv.k.values<double>().size(); at += 3) {
        dk += g.dkv.k.values<double>()[at];
        dv += g.dkv.v.values<double>()[at];
      }
    for (std::size_t at = c; at < whole.dout.values<double>().size(); at += 3)
      dout += whole.dout.values<double>()[at];
    CHECK(std::abs(dk) <= 1e-12);
    CHECK(std::abs(dv - dout) <= 1e-12);
  }
}
