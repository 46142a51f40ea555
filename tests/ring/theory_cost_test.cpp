// Closed forms of bytes, memory and time: known numbers, ragged shards by hand, and the two forms of the
// peak.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ringcraft/ring/theory.hpp"
#include "ringcraft/ring/work.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Row = std::vector<Index>;

}  // namespace

TEST_CASE("bytes of the full ring: the volume of an all-gather, and what backward adds") {
  const auto ratio = [](int n, Schedule schedule) {
    const Problem p =
        make_problem({.heads = 4, .kv_heads = 2, .seqlen = 8 * n, .head_dim = 16}, {}, Layout::kZigzag, n);
    const Theory forward = forward_theory(p, {2, 4}), backward = backward_theory(p, schedule, {2, 4});
    for (int rank = 0; rank < n; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      CHECK(forward.bytes_sent[r] == (n - 1) * 2 * 8 * 2 * 16 * 2);
      CHECK(forward.messages_sent[r] == 2 * (n - 1));
      CHECK(backward.messages_sent[r] == 2 * (n - 1) + 2 * (schedule == Schedule::kForward ? n : n - 1));
    }
    CHECK(forward.steps == n);
    CHECK(backward.steps == n);
    CHECK(dkv_exchanges(p, schedule) == (schedule == Schedule::kForward ? n : n - 1));
    return static_cast<double>(backward.bytes_sent[0]) / static_cast<double>(forward.bytes_sent[0]);
  };
  CHECK(ratio(2, Schedule::kForward) == 5.0);
  CHECK(std::fabs(ratio(4, Schedule::kForward) - 11.0 / 3) <= 1e-15 * 4);
  CHECK(std::fabs(ratio(8, Schedule::kForward) - 23.0 / 7) <= 1e-15 * 4);
  for (const int n : {2, 4, 8}) CHECK(ratio(n, Schedule::kReversed) == 3.0);

  const Problem small = make_problem({.seqlen = 64, .head_dim = 8}, {}, Layout::kContiguous, 4);
  CHECK(forward_theory(small, {1, 1}).bytes_sent == Row(4, 768));
  const Problem alone = make_problem({.seqlen = 64, .head_dim = 8}, {}, Layout::kContiguous, 1);
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
    const Theory theory = backward_theory(alone, schedule, {2, 4});
    CHECK(theory.bytes_sent == Row{0});
    CHECK(dkv_exchanges(alone, schedule) == 0);
    CHECK(theory.steps == 1);
  }
}

TEST_CASE("bytes of ragged shards are those of the blocks that pass by") {
  // 7 tokens on 3 ranks: shards of 3, 2, 2. Rank 1 hands on blocks 1 and 0, and with the forward schedule the
  // gradients of blocks 1 and 0, and at last those of block 2 to their owner.
  const Problem p = make_problem({.seqlen = 7, .head_dim = 1}, {}, Layout::kContiguous, 3);
  CHECK(forward_theory(p, {1, 100}).bytes_sent == Row{2 * (3 + 2), 2 * (2 + 3), 2 * (2 + 2)});
  CHECK(backward_theory(p, Schedule::kForward, {1, 100}).bytes_sent ==
        Row{2 * 5 + 1400, 2 * 5 + 1400, 2 * 4 + 1400});
  // Reversed: rank r starts with block r - 2 and hands on blocks r - 2 and r - 1.
  CHECK(backward_theory(p, Schedule::kReversed, {1, 100}).bytes_sent ==
        Row{202 * (2 + 2), 202 * (2 + 3), 202 * (3 + 2)});
}

TEST_CASE("hops, steps and pairs of both passes are those of the work") {
  Random random(124);
  for (int trial = 0; trial < 60; ++trial) {
    const Problem p = random_problem(random, 7, 30);
    INFO(described(p));
    const RingWork work = ring_work(p);
    for (const Theory& theory : {forward_theory(p, {1, 1}), backward_theory(p, Schedule::kForward, {1, 1})}) {
      CHECK(theory.steps == static_cast<int>(work.pairs.size()));
      CHECK(theory.steps == hops(p) + 1);
      CHECK(theory.pairs == work.by_rank);
      CHECK(theory.imbalance() == work.imbalance);
    }
  }
}

TEST_CASE("peak elements") {
  const Problem small =
      make_problem({.heads = 8, .kv_heads = 2, .seqlen = 16, .head_dim = 4}, {}, Layout::kContiguous, 4);
  CHECK(peak_elements(small, Pass::kForward) == 512);
  CHECK(peak_elements(small, Pass::kBackward) == 960);
  CHECK(forward_theory(small, {1, 1}).peak_bytes == Row(4, 512));
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    CHECK(backward_theory(small, schedule, {1, 1}).peak_bytes == Row(4, 960));

  const Problem large =
      make_problem({.heads = 32, .kv_heads = 32, .seqlen = 131072, .head_dim = 128}, {}, Layout::kZigzag, 8);
  CHECK(peak_elements(large, Pass::kForward) == 537919488);
  CHECK(peak_elements(large, Pass::kBackward) == 1074790400);
  CHECK(forward_theory(large, {1, 1}).peak_bytes == Row(8, 537919488));
  CHECK(backward_theory(large, Schedule::kForward, {1, 1}).peak_bytes == Row(8, 1074790400));
  CHECK(forward_theory(large, {2, 4}).bytes_sent[0] == 7 * Index{268435456});  // one message of a hop

  const Problem ragged = make_problem({.seqlen = 7, .head_dim = 1}, {}, Layout::kContiguous, 3);
  check_refused([&] { return peak_elements(ragged, Pass::kForward); },
                "expected a seqlen that 3 ranks divide evenly, got 7");
}

TEST_CASE("the peak of the ranks that hold most is the closed form wherever shards are equal") {
  Random random(123);
  int equal = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Problem p = random_problem(random, 6, 40);
    if (p.shape.seqlen % p.world_size != 0) continue;
    ++equal;
    INFO(described(p));
    const auto ranks = static_cast<std::size_t>(p.world_size);
    CHECK(forward_theory(p, {1, 1}).peak_bytes == Row(ranks, peak_elements(p, Pass::kForward)));
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
      const Row peaks = backward_theory(p, schedule, {1, 1}).peak_bytes;
      CHECK(*std::ranges::max_element(peaks) == peak_elements(p, Pass::kBackward));
    }
  }
  CHECK(equal > 100);
}

TEST_CASE("time of the schedules") {
  const StepTime four{3, 1, 2}, eight{5, 2, 4};
  CHECK(forward_time(3, four) == 12);
  CHECK(backward_time(3, Schedule::kForward, four) == 14);
  CHECK(backward_time(3, Schedule::kReversed, four) == 12);
  CHECK(forward_time(7, eight) == 40);
  CHECK(backward_time(7, Schedule::kForward, eight) == 44);
  CHECK(backward_time(7, Schedule::kReversed, eight) == 40);
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    CHECK(backward_time(0, schedule, four) == 3);
  // 131072 tokens on 8 GPUs, in milliseconds: 14.0963 to compute a block, 0.894785 to move it; then transfers
  // that take longer than the computation.
  CHECK(std::fabs(forward_time(7, {14.0963, 0.894785, 0}) - 8 * 14.0963) <= 1e-12);
  CHECK(forward_time(7, {1, 3, 0}) == 22);
  check_refused(
      [&] {
        return backward_time(3, Schedule::kForward, {3, 1, 4});
      },
      "backward_time: expected transfers");
  check_refused([&] { return backward_time(3, Schedule::kReversed, {3, std::nan(""), 1}); }, "backward_time");
}
